import { git } from '../process/git.ts'
import type { Repository, Sha } from '../repository.ts'

/** Generated pairs of commits to merge: the same seed gives the same pair. */
export interface MergeCase {
  seed: number
  baseSha: Sha
  headSha: Sha
  /** The steps, to read after a failure. */
  story: string
}

interface Entry {
  mode: '100644' | '100755' | '120000' | '160000'
  content: string
}

type Tree = Map<string, Entry>

/** Writes all cases with one fast-import. */
export async function buildCases(repo: Repository, firstSeed: number, count: number): Promise<MergeCase[]> {
  const writer = new ImportWriter()
  const stories = Array.from({ length: count }, (_, index) => writeCase(writer, firstSeed + index))
  await git(repo.dir, ['fast-import', '--quiet', '--force', '--date-format=raw'], { input: writer.bytes() })
  const listed = await git(repo.dir, ['for-each-ref', '--format=%(refname) %(objectname)', 'refs/cases'])
  const shas = new Map(
    listed.stdout
      .toString()
      .split('\n')
      .map((line) => line.split(' ') as [string, Sha]),
  )
  return stories.map(({ seed, story }) => ({
    seed,
    story,
    baseSha: shas.get(`refs/cases/${seed}/base`) ?? '',
    headSha: shas.get(`refs/cases/${seed}/head`) ?? '',
  }))
}

function writeCase(writer: ImportWriter, seed: number): { seed: number; story: string } {
  const random = new Random(seed)
  const story: string[] = []
  const start = makeTree(random)
  const root = writer.commit(`refs/cases/${seed}/base`, start, [])
  const unrelated = random.chance(0.04)
  const [base, head] = [new Map(start), unrelated ? makeTree(random) : new Map(start)]
  for (let i = random.int(1, 3); i > 0; i--) story.push(`base ${change(base, random)}`)
  for (let i = random.int(1, 3); i > 0; i--) story.push(`head ${change(head, random)}`)
  let baseMark = writer.commit(`refs/cases/${seed}/base`, base, [root])
  let headMark = writer.commit(`refs/cases/${seed}/head`, head, unrelated ? [] : [root])
  if (!unrelated && random.chance(0.12)) {
    // Criss-cross: each side merges the other's first commit in its own way, so there are two merge bases.
    story.push('criss-cross', `base ${change(base, random)}`, `head ${change(head, random)}`)
    const [oldBase, oldHead] = [baseMark, headMark]
    baseMark = writer.commit(`refs/cases/${seed}/base`, base, [oldBase, oldHead])
    headMark = writer.commit(`refs/cases/${seed}/head`, head, [oldHead, oldBase])
  }
  return { seed, story: `${unrelated ? 'unrelated; ' : ''}${story.join('; ')}` }
}

const folders = ['', 'src/', 'src/deep/', 'docs/', 'lib/']
const attributeLines = [
  '*.txt merge=union',
  '*.c -merge',
  '*.txt binary',
  'a* merge=binary',
  '* merge=text',
  '*.md merge=nosuchdriver',
  '[attr]mine merge=union\n*.c mine',
]

function makeTree(random: Random): Tree {
  const tree: Tree = new Map()
  const files = random.int(3, 9)
  for (let i = 0; i < files; i++)
    put(tree, newName(random), { mode: random.chance(0.1) ? '100755' : '100644', content: makeContent(random) })
  if (random.chance(0.3))
    put(tree, `${random.pick(folders)}.gitattributes`, { mode: '100644', content: `${random.pick(attributeLines)}\n` })
  if (random.chance(0.1)) put(tree, 'module', { mode: '160000', content: random.hex(40) })
  if (random.chance(0.1)) put(tree, 'link', { mode: '120000', content: random.word() })
  return tree
}

function newName(random: Random): string {
  const odd = ['tab\tname', 'quote"name', '-dash', 'ünï', 'new\nline', ' space', 'back\\slash']
  const stem = random.chance(0.06) ? random.pick(odd) : `${random.pick(['a', 'b', 'c', 'd', 'e'])}${random.int(1, 4)}`
  return `${random.pick(folders)}${stem}.${random.pick(['txt', 'c', 'md'])}`
}

function makeContent(random: Random): string {
  if (random.chance(0.08)) return `\0binary ${random.hex(60)}\n`
  const ending = random.chance(0.08) ? '\r\n' : '\n'
  const lines = Array.from({ length: random.int(1, 16) }, () => `${random.word()} ${random.word()} ${random.word()}`)
  return lines.join(ending) + (random.chance(0.1) ? '' : ending)
}

/** Makes one change to a tree and describes it. */
function change(tree: Tree, random: Random): string {
  const paths = [...tree.keys()].filter((path) => tree.get(path)?.mode !== '160000')
  const path = random.pick(paths) ?? newName(random)
  const entry = tree.get(path) ?? { mode: '100644', content: '' }
  const kinds: Record<string, () => string> = {
    edit: () => {
      put(tree, path, { ...entry, content: editLines(entry.content, random) })
      return `edits ${path}`
    },
    add: () => {
      const name = newName(random)
      put(tree, name, { mode: '100644', content: makeContent(random) })
      return `writes ${name}`
    },
    delete: () => {
      tree.delete(path)
      return `deletes ${path}`
    },
    rename: () => {
      const name = newName(random)
      tree.delete(path)
      put(tree, name, { ...entry, content: random.chance(0.5) ? editLines(entry.content, random) : entry.content })
      return `renames ${path} to ${name}`
    },
    renameFolder: () => renameFolder(tree, random),
    mode: () => {
      put(tree, path, { ...entry, mode: entry.mode === '100755' ? '100644' : '100755' })
      return `changes the mode of ${path}`
    },
    link: () => {
      put(tree, path, { mode: '120000', content: random.word() })
      return `makes a link of ${path}`
    },
    folder: () => {
      tree.delete(path)
      put(tree, `${path}/inner.txt`, { ...entry })
      return `makes a folder of ${path}`
    },
    attributes: () => {
      const name = `${random.pick(folders)}.gitattributes`
      put(tree, name, { mode: '100644', content: `${random.pick(attributeLines)}\n` })
      return `sets ${name}`
    },
    module: () => {
      put(tree, 'module', { mode: '160000', content: random.hex(40) })
      return 'moves the submodule'
    },
  }
  const names = Object.entries(weights).flatMap(([name, weight]) => Array<string>(weight).fill(name))
  return kinds[random.pick(names) as string]?.() ?? ''
}

const weights = {
  ...{ edit: 5, add: 2, delete: 1, rename: 2, renameFolder: 1 },
  ...{ mode: 1, link: 1, folder: 1, attributes: 1, module: 1 },
}

function renameFolder(tree: Tree, random: Random): string {
  const from = random.pick(['src/', 'docs/', 'lib/', 'src/deep/']) as string
  const to = random.pick(['moved/', 'docs/', 'src/new/']) as string
  for (const [path, entry] of [...tree]) {
    if (!path.startsWith(from) || random.chance(0.1)) continue
    tree.delete(path)
    put(tree, `${to}${path.slice(from.length)}`, entry)
  }
  return `moves ${from} to ${to}`
}

function editLines(content: string, random: Random): string {
  const lines = content.split('\n')
  const at = random.int(0, Math.max(0, lines.length - 1))
  const line = `${random.word()} changed ${random.word()}`
  lines.splice(at, random.int(0, 2), ...(random.chance(0.8) ? [line] : []))
  return lines.join('\n')
}

/** Makes room for a path: no file may be where it needs a folder, and no folder where it needs a file. */
function put(tree: Tree, path: string, entry: Entry): void {
  for (const other of [...tree.keys()]) {
    if (other.startsWith(`${path}/`) || path.startsWith(`${other}/`)) tree.delete(other)
  }
  // An empty link cannot be checked out, so there would be no work tree to compare with.
  const content = entry.mode === '120000' ? entry.content.replaceAll(/[\0\n]/g, '') || 'nowhere' : entry.content
  tree.set(path, { ...entry, content })
}

class ImportWriter {
  #chunks: string[] = []
  #marks = 0

  commit(ref: string, tree: Tree, parents: number[]): number {
    const mark = ++this.#marks
    const when = 1_600_000_000 + mark
    this.#chunks.push(`commit ${ref}\nmark :${mark}\ncommitter Test <test@svc.invalid> ${when} +0000\ndata 4\ncase\n`)
    const [first, ...others] = parents
    if (first) this.#chunks.push(`from :${first}\n`)
    for (const parent of others) this.#chunks.push(`merge :${parent}\n`)
    this.#chunks.push('deleteall\n')
    for (const [path, { mode, content }] of tree) {
      const name = `"${path.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`
      if (mode === '160000') this.#chunks.push(`M 160000 ${content} ${name}\n`)
      else this.#chunks.push(`M ${mode} inline ${name}\ndata ${Buffer.byteLength(content)}\n${content}\n`)
    }
    this.#chunks.push('\n')
    return mark
  }

  bytes(): Buffer {
    return Buffer.from(this.#chunks.join(''))
  }
}

/** mulberry32: small, and the same everywhere. */
class Random {
  #state: number
  constructor(seed: number) {
    this.#state = seed * 0x9e3779b1
  }
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
  int(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1))
  }
  chance(probability: number): boolean {
    return this.next() < probability
  }
  pick<T>(choices: T[]): T | undefined {
    return choices[this.int(0, choices.length - 1)]
  }
  word(): string {
    return (
      ['red', 'green', 'blue', 'tree', 'stone', 'river', 'cloud', 'light', 'seven', 'north'][this.int(0, 9)] +
      String(this.int(0, 99))
    )
  }
  hex(length: number): string {
    return Array.from({ length }, () => this.int(0, 15).toString(16)).join('')
  }
}
