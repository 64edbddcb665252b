/** One backup in one tar archive, which the tar of the system reads and may have made. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import {
  copyFile,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FolderPlace } from '../folder.ts'
import { openPlace } from '../open.ts'
import { AbsentFileError, type Chunks, readText, writeText } from '../place.ts'
import { endBytes, headBytes, headOf, padded, readIndex } from './entries.ts'
import { TarPlace } from './tar-place.ts'

const mib = 1024 ** 2

let dir: string
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-tar-'))
})
afterAll(async () => {
  await rm(dir, { recursive: true })
})

async function* pieces(bytes: number, andThen = () => {}): Chunks {
  for (let left = bytes; left > 0; left -= mib) yield new Uint8Array(Math.min(left, mib)).fill(left % 251)
  andThen()
}

async function lengthOf(chunks: Chunks): Promise<number> {
  let bytes = 0
  for await (const chunk of chunks) bytes += chunk.length
  return bytes
}

let made = 0
/** A folder of its own, since leftovers are searched beside the file. */
async function newPath(): Promise<string> {
  const folder = join(dir, `${made++}`)
  await mkdir(folder)
  return join(folder, 'svc.tar')
}

async function tar(...args: string[]): Promise<string> {
  const child = Bun.spawn(['tar', ...args], { stdout: 'pipe', stderr: 'pipe' })
  const [listed, complaint, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  expect([code, complaint]).toEqual([0, ''])
  return listed
}

const texts = { 'svc-backups.json': '{}', 'packs/a/state.json': '[1]', 'data/b/tables/c.gz': 'x'.repeat(1_000) }

async function writeTexts(path: string): Promise<void> {
  const place = new TarPlace(path)
  const lock = await place.lock()
  for (const [name, text] of Object.entries(texts)) await writeText(place, name, text)
  await place.complete()
  await lock!.release()
}

async function readTexts(path: string): Promise<object> {
  const place = new TarPlace(path)
  const names = (await place.list('')).map(({ name }) => name)
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await readText(place, name)])))
}

const failureOf = (reading: Promise<unknown>) =>
  reading.then(
    () => 'no error',
    (error: Error) => error.message,
  )

test('has what was written, of any size, once it is complete', async () => {
  const path = await newPath()
  const sizes = { 'packs/a/none.pack': 0, 'packs/a/block.pack': 512, 'packs/b/large.pack': 20 * mib + 1, 'data/c': 7 }
  const place = new TarPlace(path)
  const lock = await place.lock()
  for (const [name, bytes] of Object.entries(sizes)) await place.write(name, pieces(bytes))
  expect([await place.isEmpty(), await place.list(''), await readdir(join(path, '..'))]).toEqual([
    ...[true, []],
    ['.svc.tar.svc-partial'],
  ])
  await place.complete()
  await lock!.release()
  expect([await readdir(join(path, '..')), ((await stat(path)).mode & 0o777).toString(8)]).toEqual([['svc.tar'], '600'])
  expect((await place.list('packs/')).map(({ name }) => name)).toEqual(Object.keys(sizes).slice(0, 3))
  for (const [name, bytes] of Object.entries(sizes)) expect(await lengthOf(place.read(name))).toBe(bytes)
  await expect(lengthOf(place.read('packs/c'))).rejects.toBeInstanceOf(AbsentFileError)
  const lines = (await tar('-tvf', path)).trim().split('\n')
  expect(lines).toHaveLength(4)
  expect(lines[2]).toMatch(/^-rw------- \S+ +20971521 \d{4}-\d\d-\d\d \d\d:\d\d packs\/b\/large\.pack$/)
})

test('unpacks to a folder of backups, and reads an archive of such a folder', async () => {
  const path = await newPath()
  await writeTexts(path)
  expect(await readTexts(path)).toEqual(texts)
  const folder = join(path, '../unpacked')
  await mkdir(folder)
  await tar('-xf', path, '-C', folder)
  const unpacked = new FolderPlace(folder)
  for (const [name, text] of Object.entries(texts)) expect(await readText(unpacked, name)).toBe(text)
  for (const format of ['gnu', 'posix', 'ustar']) {
    const again = join(path, `../${format}.tar`)
    await tar('-cf', again, `--format=${format}`, '-C', folder, '.')
    expect(await readTexts(again)).toEqual(texts)
  }
})

test('is as before after a write that failed, and without its newest file once that is removed', async () => {
  const path = await newPath()
  const place = new TarPlace(path)
  const lock = await place.lock()
  await writeText(place, 'data/one', 'one')
  const failing = pieces(3 * mib, () => {
    throw new Error('git ended')
  })
  await expect(place.write('data/two', failing)).rejects.toThrow('git ended')
  await writeText(place, 'data/empty', 'to be removed')
  await place.remove(['data/empty'])
  await writeText(place, 'data/three', '')
  await place.complete()
  await lock!.release()
  expect(await readTexts(path)).toEqual({ 'data/one': 'one', 'data/three': '' })
  expect((await tar('-tf', path)).trim().split('\n')).toEqual(['data/one', 'data/three'])
})

test('has files above 8 GiB', async () => {
  const path = await newPath()
  const bytes = 9 * 1024 ** 3 + 1
  const file = await open(path, 'w+')
  const next = headBytes + padded(bytes)
  // The content is a hole, which takes no space.
  await file.write(headOf('packs/a/large.pack', bytes, new Date()), 0, headBytes, 0)
  await file.write(headOf('data/last', 4, new Date()), 0, headBytes, next)
  await file.write(Buffer.from('last'), 0, 4, next + headBytes)
  await file.truncate(next + headBytes + padded(4) + endBytes)
  expect(await readIndex(file)).toEqual({
    kind: 'whole',
    entries: new Map([
      ['packs/a/large.pack', { start: headBytes, bytes }],
      ['data/last', { start: next + headBytes, bytes: 4 }],
    ]),
  })
  await file.close()
  expect(await readText(new TarPlace(path), 'data/last')).toBe('last')
  const listed = await tar('-tvf', path)
  expect(listed).toMatch(/ 9663676417 .* packs\/a\/large\.pack\n.* 4 .* data\/last\n$/)
})

test('says of a file that was cut off anywhere that its end is missing', async () => {
  const path = await newPath()
  await writeTexts(path)
  const { size } = await stat(path)
  for (let bytes = size - endBytes; bytes > 0; bytes -= 500) {
    const cut = `${path}-cut.tar`
    await copyFile(path, cut)
    await truncate(cut, bytes)
    const why = bytes < 512 ? 'is not a tar archive' : 'is cut off: its end is missing. Copy it again'
    expect([bytes, await failureOf(readTexts(cut))]).toEqual([bytes, expect.stringContaining(`${cut} ${why}`)])
  }
})

test('says where a header is damaged, and what no archive is', async () => {
  const path = await newPath()
  await writeTexts(path)
  const bytes = await readFile(path)
  const second = headBytes + 512
  bytes[second + 3]! ^= 1
  await writeFile(path, bytes)
  expect(await failureOf(readTexts(path))).toContain(`${path} is damaged at byte ${second}. Copy it again`)
  for (const content of ['', 'PK', 'x'.repeat(2_000), '\0'.repeat(2_000)]) {
    await writeFile(path, content)
    expect(await failureOf(readTexts(path))).toBe(
      `${path} is not a tar archive, so it is no backup of svc. Nothing was changed.`,
    )
  }
})

test('is written by one command at a time, and the next one removes what a killed one left', async () => {
  const path = await newPath()
  const folder = join(path, '..')
  const lock = await new TarPlace(path).lock()
  expect(await new TarPlace(path).lock()).toBeNull()
  await writeFile(join(folder, '.of-yesterday.tar.svc-partial'), 'half a backup')
  await writeFile(join(folder, '.of-another-program.tar.partial'), '')
  const other = await new TarPlace(join(folder, 'other.tar')).lock()
  expect((await readdir(folder)).toSorted()).toEqual([
    '.of-another-program.tar.partial',
    '.other.tar.svc-partial',
    '.svc.tar.svc-partial',
  ])
  await lock!.release()
  await other!.release()
  expect(await readdir(folder)).toEqual(['.of-another-program.tar.partial'])
})

test('overwrites no file that was made meanwhile', async () => {
  const path = await newPath()
  const place = new TarPlace(path)
  const lock = await place.lock()
  await writeText(place, 'data/one', 'one')
  await writeFile(path, 'of another program')
  await expect(place.complete()).rejects.toThrow(`${path} was made meanwhile by another program`)
  await lock!.release()
  expect([await readdir(join(path, '..')), await readFile(path, 'utf8')]).toEqual([['svc.tar'], 'of another program'])
})

test('needs the folder that it is in', async () => {
  const path = join(dir, 'not-mounted/svc.tar')
  await expect(new TarPlace(path).lock()).rejects.toThrow(`There is no folder ${join(dir, 'not-mounted')}. Make it`)
  expect(await readdir(dir)).not.toContain('not-mounted')
})

test('is what an address that ends in .tar means, unless a folder has that name', async () => {
  const objectStore = { endpoint: null, region: 'x', addressing: null, credentials: null, credentialsFile: null }
  const open = (name: string) => openPlace(join(dir, name), { objectStore })
  await mkdir(join(dir, 'folder.tar'))
  await writeFile(join(dir, 'file.zip'), '')
  expect(await open('new.tar')).toBeInstanceOf(TarPlace)
  expect(await open('NEW.TAR')).toBeInstanceOf(TarPlace)
  expect(await open('folder.tar')).toBeInstanceOf(FolderPlace)
  expect(await open('new')).toBeInstanceOf(FolderPlace)
  expect(await failureOf(open('file.zip'))).toContain(
    `${join(dir, 'file.zip')} is not a folder. Backups are in a folder`,
  )
  for (const name of ['new.tar.gz', 'new.TGZ', 'new.tar.zst', 'new.tar.age', 'new.zip', 'new.tbz2'])
    expect(await failureOf(open(name))).toContain(
      `A backup in one file has a name that ends in .tar, such as ${join(dir, 'new.tar')};`,
    )
  await mkdir(join(dir, 'folder.tar.gz'))
  for (const name of ['folder.tar.gz', 'svc-2026-11-27', 'v1.2', 'storage', 'tar'])
    expect(await open(name)).toBeInstanceOf(FolderPlace)
  for (const name of ['link', 'link.tar']) {
    await symlink(join(dir, 'not-mounted/svc.tar'), join(dir, name))
    expect(await failureOf(open(name))).toContain(
      `${join(dir, name)} is a symbolic link to a place that does not exist.`,
    )
  }
  expect(await failureOf(openPlace('/dev/null', { objectStore }))).toContain('/dev/null is not a folder.')
})
