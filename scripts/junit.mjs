// Parses the test report that Bun writes.

const testcase = /<testcase ([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g

/** Returns one entry per test: its file, its full name, and whether it passed, failed or was skipped. */
export function readReport(xml) {
  return [...xml.matchAll(testcase)].map(([, head, body = '']) => {
    const group = attribute(head, 'classname')
    const name = attribute(head, 'name')
    const failure = /<(?:failure|error)([^>]*)/.exec(body)
    return {
      file: attribute(head, 'file'),
      name: group === '' ? name : `${group} > ${name}`,
      outcome: failure ? 'failed' : body.includes('<skipped') ? 'skipped' : 'passed',
      message: failure ? attribute(failure[1], 'message') : '',
    }
  })
}

function attribute(text, name) {
  const value = new RegExp(`(?:^|\\s)${name}="([^"]*)"`).exec(text)?.[1] ?? ''
  return value.replace(/&(lt|gt|quot|apos|amp|#\d+|#x[0-9a-f]+);/gi, (_, entity) => {
    if (entity.startsWith('#x')) return String.fromCodePoint(Number.parseInt(entity.slice(2), 16))
    if (entity.startsWith('#')) return String.fromCodePoint(Number(entity.slice(1)))
    return { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' }[entity.toLowerCase()]
  })
}
