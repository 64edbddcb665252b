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
  const nodes: Node[] = []
  const visit = (node: Node) => {
    nodes.push(node)
    childrenOf(node).forEach(visit)
  }
  visit(readSource(path).program as unknown as Node)
  const constants = new Map(nodes.flatMap(constantOf))
  return nodes.flatMap((node) => messagesOf(node, constants))
}

function constantOf(node: Node): [string, Node][] {
  const { id, init } = node as Node & { id?: Node; init?: Node }
  return node.type === 'VariableDeclarator' && init?.type === 'Literal' ? [[String(id?.name), init]] : []
}

/** A call of `log.warn({ field }, 'a message')`, also of a logger that something has or a function returns. */
function messagesOf(node: Node, constants: Map<string, Node>): Message[] {
  if (node.type !== 'CallExpression') return []
  const { object, property, computed } = node.callee as Node & { object?: Node; property?: Node; computed?: boolean }
  const logger = (object?.type === 'CallExpression' ? object.callee : object) as Node | undefined
  if (!/^#?log$/.test(String((logger?.property as Node | undefined)?.name ?? logger?.name))) return []
  const named = computed === true ? textsOf(property, constants) : [String(property?.name)]
  const args = node.arguments as Node[]
  const facts = args.length > 1 && args[0]?.type === 'ObjectExpression' ? (args[0].properties as Node[]) : []
  const fields = facts.flatMap(({ key }) => String((key as Node | undefined)?.name ?? '') || [])
  return named
    .filter((level) => levels.includes(level))
    .flatMap((level) => textsOf(args.at(-1), constants).map((text) => ({ level, text, fields })))
}

/** The texts that an expression can have: a literal, a constant of the file, or one of two. None where it cannot be read. */
function textsOf(node: Node | undefined, constants: Map<string, Node>): string[] {
  if (node?.type === 'ConditionalExpression')
    return [node.consequent, node.alternate].flatMap((each) => textsOf(each as Node, constants))
  const found = node?.type === 'Identifier' ? constants.get(String(node.name)) : node
  return found?.type === 'Literal' && typeof found.value === 'string' ? [found.value] : []
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
