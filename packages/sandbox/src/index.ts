export * from './driver.ts'
export { createLocalDriver, type LocalDriverOptions } from './local/driver.ts'
