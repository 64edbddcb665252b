/** Small changes of a source that a test should notice. */
import { childrenOf, type Node, type Source } from '../sources.ts'

export interface Mutant {
  path: string
  line: number
  /** The change as a person reads it. */
  change: string
  text: string
}

const opposites: Record<string, string> = {
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '+': '-',
  '-': '+',
  '&&': '||',
  '||': '&&',
}

export function mutantsOf(source: Source): Mutant[] {
  const found: Mutant[] = []
  const replace = (start: number, end: number, by: string) => {
    const text = source.text.slice(0, start) + by + source.text.slice(end)
    const was = source.text.slice(start, end).replace(/\s+/g, ' ').slice(0, 60)
    found.push({ path: source.path, line: source.lineAt(start), change: `${was} → ${by || 'nothing'}`, text })
  }
  const visit = (node: Node) => {
    if (node.type.startsWith('TS')) return
    if (node.type === 'BinaryExpression' || node.type === 'LogicalExpression') replaceOperator(node)
    if (node.type === 'IfStatement' || node.type === 'ConditionalExpression')
      for (const value of ['true', 'false']) replace((node.test as Node).start, (node.test as Node).end, value)
    if (node.type === 'UnaryExpression' && node.operator === '!') replace(node.start, node.start + 1, '')
    if (node.type === 'Literal' && typeof node.value === 'boolean') replace(node.start, node.end, String(!node.value))
    if (node.type === 'ExpressionStatement' && isCall(node.expression as Node)) replace(node.start, node.end, '')
    childrenOf(node).forEach(visit)
  }
  const replaceOperator = (node: Node) => {
    const [left, right] = [node.left as Node, node.right as Node]
    const by = opposites[String(node.operator)]
    // A string is glued together with `+`, and `-` would only make NaN of it.
    if (by === undefined || (node.operator === '+' && [left, right].some(isText))) return
    const at = source.text.indexOf(String(node.operator), left.end)
    replace(at, at + String(node.operator).length, by)
  }
  visit(source.program as unknown as Node)
  return found
}

function isCall(node: Node): boolean {
  return node.type === 'CallExpression' || (node.type === 'AwaitExpression' && isCall(node.argument as Node))
}

function isText(node: Node): boolean {
  return node.type === 'TemplateLiteral' || (node.type === 'Literal' && typeof node.value === 'string')
}
