import { version } from '../package.json'

/** Set by `--define` when the program is built; a build without them has no such host. */
declare const SVC_CLOUD_URL: string | undefined
declare const SVC_INTERNAL_URL: string | undefined

export const cloudUrl = typeof SVC_CLOUD_URL === 'undefined' ? null : SVC_CLOUD_URL
export const internalUrl = typeof SVC_INTERNAL_URL === 'undefined' ? null : SVC_INTERNAL_URL
export { version }
