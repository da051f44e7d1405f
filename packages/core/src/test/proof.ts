/**
 * Whether tests have their long form: `npm run proof` (scripts/proof.ts). What `npm test` does instead proves
 * the same promise with fewer versions, compilers or places.
 */
export const isProof = process.env['COUNTERPOINT_PROOF'] === '1';
