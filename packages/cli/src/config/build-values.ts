/** Set by `--define` at build time. A build without a URL lacks that host. */
declare const SVC_VERSION: string | undefined
declare const SVC_CLOUD_URL: string | undefined
declare const SVC_INTERNAL_URL: string | undefined

export const version = typeof SVC_VERSION === 'undefined' ? '0.8.0-dev' : SVC_VERSION
export const cloudUrl = typeof SVC_CLOUD_URL === 'undefined' ? null : SVC_CLOUD_URL
export const internalUrl = typeof SVC_INTERNAL_URL === 'undefined' ? null : SVC_INTERNAL_URL
