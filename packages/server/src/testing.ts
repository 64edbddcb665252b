export { letLive, makeTestApp, type TestApp, type TestReply, type TestRequest } from './test-app.ts'
