/** Whether a path means one file with one backup, unless a folder has that name. */
export function isTarName(path: string): boolean {
  return /\.tar$/i.test(path)
}

/** Whether a path reads as one compressed or encrypted file, which no backup is. */
export function isArchiveName(path: string): boolean {
  return archivePattern.test(path)
}

const archivePattern = /\.(tar\.[^./]+|t[bgx]z2?|tzst|zip|7z|rar|gz|bz2|xz|zst|age)$/i

/** The name that a backup in one file would have instead. */
export function asTarName(path: string): string {
  return `${path.replace(archivePattern, '')}.tar`
}
