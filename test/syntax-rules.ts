/** Rules of CONTRIBUTING.md that need the syntax tree. Each returns one line per violation, with file and line. */
import { childrenOf, type Node, type Source } from './sources.ts'

export type SyntaxRule = (source: Source) => string[]

const functionLinesMax = 70

/**
 * Lines of a function, without those of the named functions inside it: a factory and its methods are read one by one.
 * The body of a class is no function.
 */
export const shortFunctions: SyntaxRule = (source) => {
  const found: string[] = []
  const ownLines = (node: Node, isNamed: boolean): number => {
    const lines = source.lineAt(node.end) - source.lineAt(node.start) + 1
    let own = lines
    const visit = (child: Node, parent: Node) => {
      if (!isFunction(child)) return childrenOf(child).forEach((next) => visit(next, child))
      const isChildNamed = namesItsFunction(child, parent)
      own -= ownLines(child, isChildNamed)
    }
    childrenOf(node).forEach((child) => visit(child, node))
    if (isFunction(node) && own > functionLinesMax)
      found.push(
        `${source.path}:${source.lineAt(node.start)}: a function of ${own} lines; at most ${functionLinesMax} are allowed`,
      )
    return isNamed ? lines : lines - own
  }
  ownLines(source.program as unknown as Node, true)
  return found
}

function isFunction(node: Node): boolean {
  return /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type)
}

function namesItsFunction(node: Node, parent: Node): boolean {
  if (node.type === 'FunctionDeclaration') return true
  return /^(VariableDeclarator|Property|MethodDefinition|PropertyDefinition)$/.test(parent.type)
}

/** A failure that may be ignored goes to a function whose name says why. */
export const namedSilence: SyntaxRule = (source) =>
  nodesOf(source)
    .filter((node) => isEmptyCatch(node) || isSilentHandler(node))
    .map((node) => `${source.path}:${source.lineAt(node.start)}: swallows a failure without a name for the reason`)

function isEmptyCatch(node: Node): boolean {
  return node.type === 'CatchClause' && isEmptyBlock(node.body as Node)
}

function isSilentHandler(node: Node): boolean {
  if (node.type !== 'CallExpression') return false
  const callee = node.callee as Node
  if (callee.type !== 'MemberExpression' || (callee.property as Node).name !== 'catch') return false
  const [handler] = node.arguments as Node[]
  if (handler?.type !== 'ArrowFunctionExpression') return false
  const body = handler.body as Node
  const isNothing = body.type === 'Identifier' && body.name === 'undefined'
  return isEmptyBlock(body) || isNothing || (body.type === 'UnaryExpression' && body.operator === 'void')
}

function isEmptyBlock(node: Node): boolean {
  return node.type === 'BlockStatement' && (node.body as Node[]).length === 0
}

function nodesOf(source: Source): Node[] {
  const nodes: Node[] = []
  const visit = (node: Node) => {
    nodes.push(node)
    childrenOf(node).forEach(visit)
  }
  visit(source.program as unknown as Node)
  return nodes
}
