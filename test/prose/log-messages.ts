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
  const { id, init } = node as Node & { id?: Node; init?: Node | null }
  return node.type === 'VariableDeclarator' && init != null ? [[String(id?.name), init]] : []
}

/** A call of a logger, `log.warn({ field }, 'a message')`, or of the function of a sandbox driver, `log('a message', { field })`. */
function messagesOf(node: Node, constants: Map<string, Node>): Message[] {
  if (node.type !== 'CallExpression') return []
  const callee = node.callee as Node & { object?: Node; property?: Node; computed?: boolean }
  const args = node.arguments as Node[]
  // startup/choose-driver.ts gives this function to the drivers, and logs what they say at info.
  if (isLog(callee))
    return textsOf(args[0], constants).map((text) => ({ level: 'info', text, fields: keysOf(args[1]) }))
  const { object, property, computed } = callee
  if (!isLog(object?.type === 'CallExpression' ? (object.callee as Node) : object)) return []
  const named = computed === true ? textsOf(property, constants) : [String(property?.name)]
  const fields = args.length > 1 ? keysOf(args[0]) : []
  return named
    .filter((level) => levels.includes(level))
    .flatMap((level) => textsOf(args.at(-1), constants).map((text) => ({ level, text, fields })))
}

/** A logger or its function, also one that something has. */
const isLog = (node: Node | undefined) =>
  /^#?log$/.test(String((node?.property as Node | undefined)?.name ?? node?.name))

const keysOf = (node: Node | undefined): string[] =>
  node?.type === 'ObjectExpression'
    ? (node.properties as Node[]).flatMap(({ key }) => String((key as Node | undefined)?.name ?? '') || [])
    : []

/** The texts that an expression can have: a literal, a constant of the file, or one of two, with `…` for what varies. None where it cannot be read. */
function textsOf(node: Node | undefined, constants: Map<string, Node>): string[] {
  switch (node?.type) {
    case 'ConditionalExpression':
      return [node.consequent, node.alternate].flatMap((each) => textsOf(each as Node, constants))
    case 'TemplateLiteral': {
      const between = (node.expressions as Node[]).map((each) => textsOf(each, constants)[0] ?? '…')
      const parts = (node.quasis as { value: { cooked: string } }[]).map(({ value }) => value.cooked)
      return [parts.map((part, n) => `${part}${between[n] ?? ''}`).join('')]
    }
    case 'Identifier':
      return textsOf(constants.get(String(node.name)), constants)
    case 'Literal':
      return typeof node.value === 'string' ? [node.value] : []
    default:
      return []
  }
}

const levels = ['fatal', 'error', 'warn', 'info', 'debug']

function table(): string {
  const paths = ['packages/server/src', 'packages/sandbox/src']
    .flatMap((folder) => handWritten(folder))
    .filter((path) => !isTest(path) && !/testing/.test(path))
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
