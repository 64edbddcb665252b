declare const SVC_VERSION: string | undefined

/** Set by the build; from source it is the version under development. */
export const version = typeof SVC_VERSION === 'string' ? SVC_VERSION : '0.8.0-dev'
