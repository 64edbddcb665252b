/** The same kills in the same order for the same seed, as far as the machine allows. */
export { seeded as randomFrom } from '../../packages/server/src/testing-random.ts'
