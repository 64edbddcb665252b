import { afterAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { bringObjects, createManagedRepository, openMirror } from './mirror.ts'
import { commit, makeRepo, serveHttpBackend, tempDir } from './testing.ts'
import { readTips } from './tips.ts'
import { probeRemote } from './probe.ts'
test('smoke', async () => {
  const repo = await makeRepo({ main: { 'a.txt': '1\n' }, work: { 'b.txt': '2\n' } })
  const out = await readTips(repo, ['main', 'work', 'nope'])
  console.log(out)
  const host = await serveHttpBackend(repo.dir)
  const remote = { url: host.url, credential: null, allowProtocols: ['http'] }
  const t = await tempDir()
  const m = await openMirror(join(t.path, 'm.git'), remote)
  console.log(await readTips(m, ['main', 'x']), await readTips(m, 'all'))
  console.log(await bringObjects(m, [await repo.tip('work')]))
  console.log(await probeRemote(remote), host.requests)
  const v0 = await serveHttpBackend(repo.dir, { protocol: 0, auth: { username: 'u', password: 'p' } })
  console.log(
    await readTips(
      { dir: m.dir, remote: { ...remote, url: v0.url, credential: { username: 'u', password: 'p' } } },
      'all',
    ),
  )
  console.log(await readTips({ dir: m.dir, remote: { ...remote, url: v0.url } }, 'all'))
  console.log(await probeRemote({ ...remote, url: `file://${repo.dir}`, allowProtocols: ['file'] }))
  const f = await openMirror(join(t.path, 'f.git'), {
    url: `file://${repo.dir}`,
    credential: null,
    allowProtocols: ['file'],
  })
  console.log(await readTips(f, 'all'), await bringObjects(f, [await repo.tip('work')]))
  await host.close()
  await v0.close()
})
