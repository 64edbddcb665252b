/** The SDK as npm would install it: the example of the guide compiles against the package and runs against a server. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeWorld, type World } from '../schemathesis/world.ts'

const root = join(import.meta.dir, '../..')

let world: World
let folder: string
beforeAll(async () => {
  world = await makeWorld()
  folder = await mkdtemp(join(tmpdir(), 'svc-sdk-'))
  const modules = join(folder, 'node_modules')
  await mkdir(join(modules, '@svc'), { recursive: true })
  const packed = await run(['node', join(root, 'scripts/sdk.mjs')])
  await run(['tar', '-xzf', packed.trim(), '-C', folder])
  await cp(join(folder, 'package'), join(modules, '@svc/sdk'), { recursive: true })
  for (const name of ['openapi-fetch', 'openapi-typescript-helpers', '@types/node', 'undici-types'])
    await cp(join(root, 'node_modules', name), join(modules, name), { recursive: true })
  const guide = await readFile(join(root, 'docs/guide/sdk.md'), 'utf8')
  await writeFile(join(folder, 'example.ts'), /```ts\n([^]*?)```/.exec(guide)![1]!)
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
}, 120_000)
afterAll(async () => {
  await world.close()
  await rm(folder, { recursive: true, force: true })
})

test('the example of the guide compiles in strict mode', async () => {
  const flags = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'esnext', '--types', 'node']
  const compiled = await run([process.execPath, join(root, 'node_modules/typescript/bin/tsc'), ...flags, 'example.ts'])
  expect(compiled).toBe('')
}, 120_000)

test('the example of the guide runs against a server', async () => {
  const env = { SVC_API_URL: world.url, SVC_TOKEN: world.token, SVC_PROJECT_ID: world.ids.projectId![0]! }
  const shown = await run([process.execPath, 'example.ts'], env)
  expect(shown.split('\n')).toEqual([
    expect.stringMatching(/^Session Fix the build works on [0-9a-f-]{36}\.$/),
    'Open change requests: 3',
    'not_found: There is no such file.',
    '',
  ])
}, 120_000)

test('the package loads no schema library', async () => {
  expect(await readFile(join(folder, 'package/index.js'), 'utf8')).not.toMatch(/from ["'](?!openapi-fetch["'])/)
})

async function run(command: string[], env: Record<string, string> = {}): Promise<string> {
  const child = Bun.spawn(command, { cwd: folder, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  const [out, problem] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')}\n${out}${problem}`)
  return out
}
