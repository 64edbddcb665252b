import { expect, test } from 'bun:test'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { all } from '../../testing/calls.ts'
import { svc, temporaryFolder } from '../../testing.ts'

test('svc man --out writes a manual page of every command and group', async () => {
  await using folder = await temporaryFolder()
  expect((await svc(['man', '--out', 'man1'], { cwd: folder.path })).code).toBe(0)
  const names = await readdir(join(folder.path, 'man1'))
  for (const [name] of all) expect(names).toContain(`svc-${name.replace(' ', '-')}.1`)
  for (const name of ['svc.1', 'svc-cr.1']) expect(names).toContain(name)
  const merge = await readFile(join(folder.path, 'man1/svc-cr-merge.1'), 'utf8')
  for (const part of ['.TH SVC-CR-MERGE 1', '.SH SYNOPSIS\n\\fBsvc cr merge\\fR <cr> [flags]', '\\-\\-message <text>'])
    expect(merge).toContain(part)
  // roff treats a line that begins with a dot or a quote as a request.
  const requests = /^[.'](?!(TH|SH|TP|PP|nf|fi)\b)/m
  for (const name of names) expect(await readFile(join(folder.path, 'man1', name), 'utf8')).not.toMatch(requests)
})

test('svc man prints one page, and refuses a typo with the nearest command', async () => {
  expect((await svc(['man', 'cr', 'merge'])).stdout).toStartWith('.TH SVC-CR-MERGE 1')
  expect((await svc(['man'])).stdout).toContain('svc\\-cr(1)')
  expect(await svc(['man', 'cr', 'mrege'])).toMatchObject({ code: 2, stderr: expect.stringContaining('svc cr merge') })
})
