/** Lists the messages of the server's log in docs/operate/log.md, with their level and fields: `npm run generate`. A test compares them. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isTest } from '../architecture.ts'
import { childrenOf, handWritten, type Node, readSource, root } from '../sources.ts'

const page = join(root, 'docs/operate/log.md')
const [begin, end] = ['<!-- messages: npm run generate -->', '<!-- end of messages -->']

interface Message {
  level: string
  text: string
  fields: string[]
}

function messagesIn(path: string): Message[] {
  const found: Message[] = []
  const visit = (node: Node) => {
    const message = messageOf(node)
    if (message !== null) found.push(message)
    for (const child of childrenOf(node)) visit(child)
  }
  visit(readSource(path).program as unknown as Node)
  return found
}

/** A call of `log.warn({ field }, 'a message')`, also of a logger that something has. */
function messageOf(node: Node): Message | null {
  if (node.type !== 'CallExpression') return null
  const { object, property } = node.callee as Node & { object?: Node; property?: Node }
  const level = String(property?.name)
  const logger = String((object?.property as Node | undefined)?.name ?? object?.name)
  if (!/^#?log$/.test(logger) || !/^(debug|info|warn|error|fatal)$/.test(level)) return null
  const args = node.arguments as Node[]
  const text = args.at(-1)
  if (text?.type !== 'Literal' || typeof text.value !== 'string') return null
  const facts = args.length > 1 && args[0]?.type === 'ObjectExpression' ? (args[0].properties as Node[]) : []
  const fields = facts.flatMap(({ key }) => String((key as Node | undefined)?.name ?? '') || [])
  return { level, text: text.value, fields }
}

const levels = ['fatal', 'error', 'warn', 'info', 'debug']

function table(): string {
  const paths = handWritten('packages/server/src').filter((path) => !isTest(path) && !/testing/.test(path))
  const rows = paths.flatMap(messagesIn).map(({ level, text, fields }) => {
    const shown = fields.map((field) => `\`${field}\``).join(', ')
    return { level, row: `| ${level} | ${text.replace(/[|<>]/g, '\\$&')} | ${shown} |` }
  })
  const unique = [...new Map(rows.map((each) => [each.row, each])).values()]
  const sorted = unique.toSorted(
    (a, b) => levels.indexOf(a.level) - levels.indexOf(b.level) || (a.row < b.row ? -1 : 1),
  )
  return ['| Level | Message | Fields |', '|---|---|---|', ...sorted.map(({ row }) => row)].join('\n')
}

/** The page as it is, and as it should be. */
export function logPage(): { is: string; wanted: string } {
  const is = readFileSync(page, 'utf8')
  const [before = '', rest = ''] = is.split(begin)
  const [, after = ''] = rest.split(end)
  return { is, wanted: `${before}${begin}\n\n${table()}\n\n${end}${after}` }
}

if (import.meta.main) writeFileSync(page, logPage().wanted)
