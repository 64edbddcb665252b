/** Addresses of buckets, as an operator writes them. */

const bucketPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]$/
/** They need no encoding in a URL, in XML or in a signature. */
const prefixPattern = /^[A-Za-z0-9._~/-]*$/

/** The rule that an address breaks, or null. */
export function refuseAddress(address: string): string | null {
  const { name, prefix } = addressParts(address)
  if (!bucketPattern.test(name))
    return 'must be s3://bucket/prefix, with a bucket name of three or more letters, digits, hyphens and dots'
  if (!prefixPattern.test(prefix) || prefix.split('/').some((part) => part === '.' || part === '..'))
    return 'must have a prefix of letters, digits, and the characters . _ ~ - and /'
  return null
}

/** The prefix is empty or ends with a slash. */
export function addressParts(address: string): { name: string; prefix: string } {
  const [, name = '', rest = ''] = /^s3:\/\/([^/]*)(?:\/(.*))?$/.exec(address) ?? []
  const prefix = rest
    .split('/')
    .filter((part) => part !== '')
    .join('/')
  return { name, prefix: prefix === '' ? '' : `${prefix}/` }
}
