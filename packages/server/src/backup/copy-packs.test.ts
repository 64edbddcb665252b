import { expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { chmod, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { packPaths, packUnpacked } from '@svc/git'
import { tempDir } from '@svc/git/testing'
import { $ } from 'bun'
import { copyPacks, type StorePack } from './copy-packs.ts'
import type { StoredFile } from './manifest.ts'

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
    const path = (await packPaths(dir))[0]!
    const bytes = await readFile(path)
    bytes[20]! ^= 1
    await chmod(path, 0o600)
    await writeFile(path, bytes)
    await expect(copyPacks(dir, new Packs().store)).rejects.toThrow(`${path} is damaged`)
  }
})
