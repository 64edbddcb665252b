const forbidden = /[\x00-\x20\x7f~^:?*[\\]|\.\.|@\{|\/\/|\.$|\.lock$|\.lock\/|^\/|\/$|^\.|\/\./
const componentBytesMax = 250
const nameBytesMax = 1000

/**
 * Whether git accepts `refs/heads/<name>` as a ref. Unusual names are legal and must work: `-dash`, `+main`, `HEAD`,
 * 40 hex digits. The length limit is that of a file name with `.lock` appended.
 */
export function isBranchName(name: string): boolean {
  if (name === '' || forbidden.test(name) || !name.isWellFormed()) return false
  if (Buffer.byteLength(name) > nameBytesMax) return false
  return name.split('/').every((part) => Buffer.byteLength(part) <= componentBytesMax)
}

export function requireBranchName(name: string): string {
  if (!isBranchName(name)) throw new TypeError(`Not a branch name git accepts: ${JSON.stringify(name.slice(0, 200))}`)
  return name
}

/** Any full ref name: `refs/` and at least two parts. */
export function isRefName(name: string): boolean {
  return name.startsWith('refs/') && name.split('/').length >= 3 && isBranchName(name.slice('refs/'.length))
}
