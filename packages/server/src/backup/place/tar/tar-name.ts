/** Whether a path means one file with one backup, unless a folder has that name. */
export function isTarName(path: string): boolean {
  return /\.tar$/i.test(path)
}
