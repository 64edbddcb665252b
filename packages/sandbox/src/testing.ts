export { driverConformance, type DriverUnderTest } from './conformance.ts'
export { createFakeDriver, type FakeDriver, type FakeDriverOptions } from './fake.ts'
export type { FakeApp, FakeAppSpec } from './fake-app.ts'
export type { FakePrompt } from './fake-daemon.ts'
