/** An order in which the files of a change are read: what others use before what uses it, tests after what they test. */
import { writtenByProgram } from '@svc/contract'
import { importsOf, KnownFiles } from './imports.ts'

export interface OrderedFile {
  path: string
  kind: 'source' | 'test' | 'other' | 'generated'
  /** How many of the other files import it. */
  imported_by: number
  /** The file of the change that a test tests. */
  tests: string | null
}

interface Changed {
  path: string
  additions: number
  deletions: number
  binary: boolean
}

interface Node extends Changed {
  imports: Set<string>
  importedBy: number
  lines: number
}

/** Beyond this number of sources, they are ordered by their importers alone. */
const comparedMax = 1_000

/** `texts` has the content of the files as far as it was read. */
export function readingOrder(files: readonly Changed[], texts: ReadonlyMap<string, string>): OrderedFile[] {
  const known = new KnownFiles(files.map(({ path }) => path))
  const nodes = new Map(
    files.map((file): [string, Node] => {
      const imports = importsOf(file.path, texts.get(file.path) ?? '', known)
      return [file.path, { ...file, imports, importedBy: 0, lines: file.additions + file.deletions }]
    }),
  )
  for (const { imports } of nodes.values()) for (const path of imports) nodes.get(path)!.importedBy++
  const of = (kind: OrderedFile['kind']) => [...nodes.values()].filter((node) => kindOf(node) === kind)
  const sources = of('source')
  const tests = Map.groupBy(of('test'), (test) => testedBy(test, sources))
  const present = (node: Node, tested: string | null = null): OrderedFile => ({
    ...{ path: node.path, kind: kindOf(node), imported_by: node.importedBy, tests: tested },
  })
  const beside = (source: string | null) =>
    (tests.get(source) ?? []).toSorted(byUse).map((test) => present(test, source))
  return [
    ...importedFirst(sources).flatMap((source) => [present(source), ...beside(source.path)]),
    ...beside(null),
    ...of('other')
      .toSorted(byUse)
      .map((node) => present(node)),
    ...of('generated')
      .toSorted(byUse)
      .map((node) => present(node)),
  ]
}

const code =
  /\.(?:[cm]?[jt]sx?|vue|svelte|py|go|rs|java|kts?|c|h|cc|hh|cpp|hpp|cxx|hxx|mm?|rb|php|cs|swift|scala|ex|exs|erl|hs|lua|pl|sh|sql|proto|graphql)$/
const test =
  /(?:^|\/)(?:tests?|__tests__|spec|e2e|testdata|fixtures)\/|(?:[._-](?:test|spec|e2e)s?\.[^/]+|(?:^|\/)test_[^/]+|_test\.\w+|Tests?\.(?:java|kts?|cs))$/

function kindOf({ path, binary }: Changed): OrderedFile['kind'] {
  if (writtenByProgram(path) !== null) return 'generated'
  if (binary || !code.test(path)) return test.test(path) && !binary ? 'test' : 'other'
  return test.test(path) ? 'test' : 'source'
}

/** More importers first, then the larger change. */
function byUse(a: Node, b: Node): number {
  return b.importedBy - a.importedBy || b.lines - a.lines || (a.path < b.path ? -1 : 1)
}

/** Each after the sources that it imports. In a cycle, the one with the fewest unread imports comes first. */
function importedFirst(sources: Node[]): Node[] {
  const waiting = sources.toSorted(byUse)
  if (waiting.length > comparedMax) return waiting
  const unread = new Set(waiting.map(({ path }) => path))
  const order: Node[] = []
  while (waiting.length > 0) {
    const left = waiting.map(({ imports }) => imports.intersection(unread).size)
    const [next] = waiting.splice(left.indexOf(Math.min(...left)), 1)
    unread.delete(next!.path)
    order.push(next!)
  }
  return order
}

/** The source of its name, otherwise the most specific one that it imports. */
function testedBy(node: Node, sources: readonly Node[]): string | null {
  const stem = stemOf(node.path)
  const named = sources.filter(({ path }) => stemOf(path) === stem)
  const near = named.toSorted((a, b) => sharedFolders(b.path, node.path) - sharedFolders(a.path, node.path))[0]
  if (near !== undefined) return near.path
  const imported = sources.filter(({ path }) => node.imports.has(path))
  return imported.toSorted((a, b) => a.importedBy - b.importedBy || b.lines - a.lines)[0]?.path ?? null
}

function stemOf(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1).replace(/\.[^.]+$/, '')
  return name.replace(/[._-](?:test|spec|e2e)s?$|^test_|_test$|Tests?$/, '').toLowerCase()
}

function sharedFolders(one: string, other: string): number {
  const [a, b] = [one.split('/').slice(0, -1), other.split('/').slice(0, -1)]
  const differ = a.findIndex((part, at) => part !== b[at])
  return differ === -1 ? a.length : differ
}
