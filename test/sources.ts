/** The hand-written sources, parsed: what the rules of syntax and the prose scripts read. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync } from 'oxc-parser'

/** The fields that all nodes of the syntax tree have. */
export interface Node {
  type: string
  start: number
  end: number
  [key: string]: unknown
}

export const root = join(import.meta.dir, '..')

export interface Source {
  path: string
  text: string
  /** `lineAt(offset)` counts from 1. */
  lineAt(offset: number): number
  program: ReturnType<typeof parseSync>['program']
  comments: ReturnType<typeof parseSync>['comments']
}

export function parseSource(path: string, text: string): Source {
  const { program, comments, errors } = parseSync(path, text)
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]!.message}`)
  const starts = [0]
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  const lineAt = (offset: number) => {
    let [low, high] = [0, starts.length]
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if (starts[middle]! <= offset) low = middle
      else high = middle
    }
    return low + 1
  }
  return { path, text, lineAt, program, comments }
}

export function handWritten(folder = '.'): string[] {
  return execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', folder], {
    cwd: root,
    encoding: 'utf8',
  })
    .split('\n')
    .filter((path) => /\.(ts|tsx|mjs)$/.test(path) && !path.endsWith('.gen.ts') && existsSync(join(root, path)))
    .sort()
}

export function readSource(path: string): Source {
  return parseSource(path, readFileSync(join(root, path), 'utf8'))
}

export function childrenOf(node: Node): Node[] {
  const isNode = (value: unknown): value is Node =>
    typeof value === 'object' && value !== null && typeof (value as Node).type === 'string'
  return Object.values(node)
    .flatMap((value) => (Array.isArray(value) ? value : [value]))
    .filter(isNode)
}
