/** For `catch`: what a missing file or folder counts as, as when another process just removed it. */
export function orIfAbsent<T>(value: T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code === 'ENOENT') return value
    throw error
  }
}
