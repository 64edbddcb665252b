/** Raw header lines, name and value in turn (node's `rawHeaders`), for proxies. */

/** Connection-bound headers (RFC 9110, 7.6.1), and `host`: their meaning ends at this hop. */
const hopByHop = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'host',
])

/** Every value of that name, in the order of its lines. `name` is lower case. */
export function headerLines(rawHeaders: string[], name: string): string[] {
  const values: string[] = []
  for (let i = 0; i + 1 < rawHeaders.length; i += 2)
    if (rawHeaders[i]!.toLowerCase() === name) values.push(rawHeaders[i + 1]!)
  return values
}

/** Removes the headers of one connection. `pass` returns the value to forward, or null to drop the header; its `name` is lower case. */
export function passedHeaders(rawHeaders: string[], pass: (name: string, value: string) => string | null): string[] {
  const named = new Set(
    headerLines(rawHeaders, 'connection').flatMap((value) => value.split(',').map((name) => name.trim().toLowerCase())),
  )
  const kept: string[] = []
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase()
    if (hopByHop.has(name) || named.has(name)) continue
    const value = pass(name, rawHeaders[i + 1]!)
    if (value !== null) kept.push(rawHeaders[i]!, value)
  }
  return kept
}

/**
 * The head of the answer to an upgrade, as it is forwarded. `text` ends before the empty line; `kept` filters the
 * headers.
 */
export function passedAnswerHead(text: string, kept: (rawHeaders: string[]) => string[]): string {
  const [status = '', ...lines] = text.split('\r\n')
  const raw = lines.flatMap((line) => {
    const colon = line.indexOf(':')
    return colon === -1 ? [] : [line.slice(0, colon), line.slice(colon + 1).trim()]
  })
  const switched = /^HTTP\/1\.1 101\b/.test(status)
  const again = switched
    ? ['Connection', 'Upgrade', 'Upgrade', headerLines(raw, 'upgrade').join(', ')]
    : ['Connection', 'close']
  // A refusal keeps its framing: the body is forwarded unchanged, chunk sizes included.
  const framing = switched ? [] : headerLines(raw, 'transfer-encoding').flatMap((value) => ['Transfer-Encoding', value])
  return `${status}\r\n${asLines([...kept(raw), ...again, ...framing])}\r\n`
}

/** The form that node's `request` and `writeHead` take. A repeated name has a list. */
export function asObject(rawHeaders: string[]): Record<string, string | string[]> {
  // Without a prototype, so that a header called __proto__ is a header.
  const headers = Object.create(null) as Record<string, string | string[]>
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase()
    const before = headers[name]
    const value = rawHeaders[i + 1]!
    if (before === undefined) headers[name] = value
    else headers[name] = Array.isArray(before) ? [...before, value] : [before, value]
  }
  return headers
}

/** As raw lines, each with its line end. */
export function asLines(rawHeaders: string[]): string {
  let text = ''
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) text += `${rawHeaders[i]}: ${rawHeaders[i + 1]}\r\n`
  return text
}
