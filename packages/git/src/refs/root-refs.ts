/** Refs that a replica has for commits which only rows name. No other repository has them. */
export const rootRefs = 'refs/svc-roots/'

export const isRootRef = (ref: string) => ref.startsWith(rootRefs)
