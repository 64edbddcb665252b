/** The TypeScript client of the API: types from the API document, and requests that are sent again only where that is safe. */
export { type ClientOptions, createSvcClient, type SlowNotice, type SvcClient } from './client.ts'
export { ServiceError, TransportError, type TransportFailure } from './errors.ts'
export { type Answer, callRoute, nextPage, onlyOnce, reply, replyPage, replyStream, replyWarned } from './reply.ts'
export type * from '@svc/contract/api.gen'
