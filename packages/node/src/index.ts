export * from '@counterpoint/core/base';
