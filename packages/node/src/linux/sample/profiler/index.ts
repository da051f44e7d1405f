export { OwnProfile } from './own-profile.ts';
export { type OwnProfileOptions, profile, RunningProfile, startProfile } from './profile.ts';
