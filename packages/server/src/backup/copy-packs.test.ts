import { expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { chmod, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { packPaths, packUnpacked, readCopyManifest } from '@svc/git'
import { tempDir } from '@svc/git/testing'
import { $ } from 'bun'
import { copyPacks, type StorePack } from './copy-packs.ts'
import type { StoredFile } from './manifest.ts'
import { FolderPlace } from './place/folder.ts'
import { type FoundRepository, packRepository } from './repositories.ts'

const { path: folder } = await tempDir('svc-packs')

/** Where packs are kept, and a repository that is made of them alone. */
class Packs {
  readonly #files = new Map<string, Buffer>()
  /** Runs after a pack was stored. */
  afterEach: (count: number) => Promise<void> = async () => {}

  readonly store: StorePack = async (pack) => {
    const bytes = Buffer.concat(await Array.fromAsync(pack))
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    const stored: StoredFile = { name: `${this.#files.size}.pack`, bytes: bytes.length, sha256 }
    this.#files.set(stored.name, bytes)
    await this.afterEach(this.#files.size)
    return stored
  }

  async unpack(dir: string, packs: StoredFile[]): Promise<void> {
    await $`git init --quiet --bare ${dir}`
    for (const { name } of packs)
      await $`git -C ${dir} index-pack --stdin --fix-thin < ${this.#files.get(name)!}`.quiet()
  }
}

async function makeRepository(name: string): Promise<string> {
  const dir = join(folder, name)
  await $`git init --quiet --bare --initial-branch=main ${dir}`
  return dir
}

async function commit(dir: string, path: string, text: string, parent?: string): Promise<string> {
  const blob = (await $`git -C ${dir} hash-object -w --stdin < ${Buffer.from(text)}`.text()).trim()
  const line = Buffer.from(`100644 blob ${blob}\t${path}\n`)
  const tree = (await $`git -C ${dir} mktree < ${line}`.text()).trim()
  const parents = parent === undefined ? [] : ['-p', parent]
  const as = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.test']
  return (await $`git ${as} -C ${dir} commit-tree ${parents} -m ${path} ${tree}`.text()).trim()
}

async function pack(dir: string, ids: string[]): Promise<void> {
  const list = Buffer.from(`${ids.join('\n')}\n`)
  await $`git -C ${dir} pack-objects --quiet ${join(dir, 'objects/pack/pack')} < ${list}`.quiet()
  await $`git -C ${dir} prune-packed`.quiet()
}

test('a loose file of a commit that is packed is not left out', async () => {
  const dir = await makeRepository('loose')
  const head = await commit(dir, 'a.txt', 'one\n')
  const tree = (await $`git -C ${dir} rev-parse ${head}^{tree}`.text()).trim()
  await pack(dir, [head, tree])
  const packs = new Packs()
  const copied = await copyPacks(dir, packs.store)
  const all = await copied!.complete(await packUnpacked({ dir, remote: null }, [head]))
  expect(all).toHaveLength(2)
  await packs.unpack(join(folder, 'loose-copy'), all)
  const text = await $`git -C ${join(folder, 'loose-copy')} show ${head}:a.txt`.text()
  expect(text).toBe('one\n')
})

test('packs that git joins meanwhile are complete', async () => {
  const dir = await makeRepository('joined')
  let head: string | undefined
  for (const text of ['one\n', 'two\n', 'three\n']) {
    head = await commit(dir, 'a.txt', text, head)
    await $`git -C ${dir} update-ref refs/heads/main ${head}`
    await $`git -C ${dir} repack --quiet -d`.quiet()
  }
  const packs = new Packs()
  packs.afterEach = async (count) => {
    if (count !== 1) return
    head = await commit(dir, 'a.txt', 'four\n', head)
    await $`git -C ${dir} update-ref refs/heads/main ${head}`
    await $`git -C ${dir} repack --quiet -a -d`.quiet()
  }
  const copied = await copyPacks(dir, packs.store)
  expect(
    await readdir(join(dir, 'objects/pack')).then((names) => names.filter((name) => name.endsWith('.pack'))),
  ).toHaveLength(1)
  // A push at the last moment, which git packs before it is asked for what is in none.
  const last = await commit(dir, 'a.txt', 'five\n', head)
  await $`git -C ${dir} update-ref refs/heads/main ${last}`
  await $`git -C ${dir} repack --quiet -d`.quiet()
  const all = await copied!.complete(await packUnpacked({ dir, remote: null }, [last]))
  await packs.unpack(join(folder, 'joined-copy'), all)
  const log = await $`git -C ${join(folder, 'joined-copy')} rev-list --objects ${last}`.text()
  expect(log.trim().split('\n')).toHaveLength(15)
})

test('a pack that is damaged is refused', async () => {
  for (const format of ['sha1', 'sha256']) {
    const dir = join(folder, `damaged-${format}`)
    await $`git init --quiet --bare --object-format=${format} ${dir}`
    const head = await commit(dir, 'a.txt', 'one\n')
    await $`git -C ${dir} update-ref refs/heads/main ${head}`
    await $`git -C ${dir} repack --quiet -a -d`.quiet()
    expect(await copyPacks(dir, new Packs().store)).not.toBeNull()
    const path = (await packPaths(dir))![0]!
    const bytes = await readFile(path)
    bytes[20]! ^= 1
    await chmod(path, 0o600)
    await writeFile(path, bytes)
    await expect(copyPacks(dir, new Packs().store)).rejects.toThrow(`${path} is damaged`)
  }
})

test('packs of any name are copied, and none where git reads those of another repository, too', async () => {
  const dir = await makeRepository('named')
  const head = await commit(dir, 'a.txt', 'one\n')
  await $`git -C ${dir} update-ref refs/heads/main ${head}`
  // git calls these `loose-<hash>.pack`.
  await $`git -C ${dir} maintenance run --task=loose-objects --quiet`.quiet()
  await $`git -C ${dir} prune-packed`.quiet()
  const packs = new Packs()
  const copied = await copyPacks(dir, packs.store)
  const all = await copied!.complete(await packUnpacked({ dir, remote: null }, [head]))
  await packs.unpack(join(folder, 'named-copy'), all)
  expect(await $`git -C ${join(folder, 'named-copy')} show ${head}:a.txt`.text()).toBe('one\n')
  await writeFile(join(dir, 'objects/info/alternates'), `${join(folder, 'joined/objects')}\n`)
  expect(await copyPacks(dir, packs.store)).toBeNull()
})

test('a pack that is listed and cannot be opened is an error', async () => {
  const dir = await makeRepository('dangling')
  await writeFile(join(dir, `objects/pack/pack-${'1'.repeat(40)}.idx`), '')
  await symlink('/nowhere', join(dir, `objects/pack/pack-${'1'.repeat(40)}.pack`))
  await expect(copyPacks(dir, new Packs().store)).rejects.toThrow('cannot be opened')
})

test('an object of no bytes is in the backup', async () => {
  const dir = await makeRepository('tiny')
  const sha = (await $`git -C ${dir} hash-object -w --stdin < ${Buffer.from('')}`.text()).trim()
  const place = new FolderPlace(join(folder, 'tiny-place'))
  const project = { project_id: 'tiny', roots: [], acknowledged: [] } as unknown as FoundRepository['project']
  const copy = { refs: [{ ref: 'refs/tags/empty', sha, target: null }] } as unknown as FoundRepository['copy']
  const found: FoundRepository = { project, kind: 'repositories', dir, copy }
  const { packs } = await packRepository({ place, packed: new Map(), used: null }, found, null)
  expect(packs).toHaveLength(1)
  const unpacked = join(folder, 'tiny-copy')
  await $`git init --quiet --bare ${unpacked}`
  await $`git -C ${unpacked} index-pack --stdin < ${Bun.file(join(place.address, packs[0]!.name))}`.quiet()
  expect((await $`git -C ${unpacked} cat-file -s ${sha}`.text()).trim()).toBe('0')
})

test('a branch that is deleted and reclaimed while the packs are copied is left out', async () => {
  const dir = await makeRepository('shrinking')
  const kept = await commit(dir, 'a.txt', 'one\n')
  const gone = await commit(dir, 'b.txt', 'two\n')
  await pack(dir, [kept])
  await $`git -C ${dir} update-ref refs/heads/main ${kept}`
  await $`git -C ${dir} update-ref refs/heads/gone ${gone}`
  const place = new FolderPlace(join(folder, 'shrinking-place'))
  const write = place.write.bind(place)
  place.write = async (...args) => {
    await $`git -C ${dir} update-ref -d refs/heads/gone`
    await $`git -C ${dir} gc --prune=now --quiet`
    return write(...args)
  }
  const copy = await readCopyManifest(dir)
  const project = { project_id: 'shrinking', roots: [], acknowledged: [] } as unknown as FoundRepository['project']
  const found: FoundRepository = { project, kind: 'repositories', dir, copy: copy! }
  const packed = await packRepository({ place, packed: new Map(), used: null }, found, null)
  expect(packed.copy.refs).toEqual([{ ref: 'refs/heads/main', sha: kept, target: null }])
})
