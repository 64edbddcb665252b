import { afterAll, describe, expect, test } from 'bun:test'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { git } from '../process/git.ts'
import { landMerge } from './merge.ts'
import { fetchObjects } from '../mirror/repair.ts'
import { openMirror } from '../mirror/mirror.ts'
import { commit, serveHttpBackend, tempDir, type Files, type TestRepository } from '../testing.ts'
import { forked, plan, removeRepos, repoWith } from './testing-merges.ts'

afterAll(removeRepos)

describe('landMerge', () => {
  const remoteOf = (url: string) => ({ url, credential: null, allowProtocols: ['http'] })

  async function planned(repo: TestRepository) {
    const baseSha = await commit(repo, 'main', { c: `${Math.random()}\n` })
    const result = await plan(repo, baseSha, await repo.tip('work'))
    if (result.kind !== 'merge-commit') throw new Error(result.kind)
    return { baseRef: 'main', baseSha, resultSha: result.resultSha }
  }

  test('moves a managed branch once, and a repetition reports the same result', async () => {
    const repo = await repoWith({ main: { a: '1\n' }, work: { b: '2\n' } })
    const input = await planned(repo)
    expect(await landMerge(repo, input)).toEqual({ kind: 'landed' })
    expect(await landMerge(repo, input)).toEqual({ kind: 'landed' })
    await commit(repo, 'main', { d: 'later\n' })
    expect(await landMerge(repo, input)).toEqual({ kind: 'landed' })
  })

  test('exactly one of many concurrent merges wins, and none overwrites another', async () => {
    const branches: Record<string, Files> = { main: { a: '1\n' } }
    for (let i = 0; i < 8; i++) branches[`w${i}`] = { [`f${i}`]: `${i}\n` }
    const repo = await repoWith(branches)
    const baseSha = await commit(repo, 'main', { c: '1\n' })
    const plans = await Promise.all(
      Object.keys(branches)
        .slice(1)
        .map(async (branch) => plan(repo, baseSha, await repo.tip(branch))),
    )
    const outcomes = await Promise.all(
      plans.map((one) =>
        landMerge(repo, { baseRef: 'main', baseSha, resultSha: one.kind === 'merge-commit' ? one.resultSha : '' }),
      ),
    )
    const kinds = outcomes.map(({ kind }) => kind)
    expect(kinds.filter((kind) => kind === 'landed')).toHaveLength(1)
    expect(kinds.filter((kind) => kind === 'moved')).toHaveLength(7)
    const winner = plans[kinds.indexOf('landed')]
    expect(await repo.tip('main')).toBe(winner?.kind === 'merge-commit' ? winner.resultSha : '')
  })

  test('leaves a base alone that moved, was rewound or is gone', async () => {
    const repo = await repoWith({ main: { a: '1\n' }, work: { b: '2\n' } })
    const first = await repo.tip('main')
    const input = await planned(repo)
    const moved = await commit(repo, 'main', { z: '1\n' })
    expect(await landMerge(repo, input)).toEqual({ kind: 'moved' })
    expect(await repo.tip('main')).toBe(moved)
    await git(repo.dir, ['update-ref', 'refs/heads/main', first])
    expect(await landMerge(repo, input)).toEqual({ kind: 'moved' })
    await git(repo.dir, ['update-ref', '-d', 'refs/heads/main'])
    expect(await landMerge(repo, input)).toEqual({ kind: 'moved' })
  })

  test('reports on an external host whether the merge landed, the base moved or was rewound', async () => {
    const repo = await repoWith({ main: { a: '1\n' }, work: { b: '2\n' } })
    const host = await serveHttpBackend(repo.dir)
    const temp = await tempDir()
    const mirror = await openMirror(join(temp.path, 'm.git'), remoteOf(host.url))
    const first = await repo.tip('main')
    const baseSha = await commit(repo, 'main', { c: '1\n' })
    const headSha = await repo.tip('work')
    await fetchObjects(mirror, [baseSha, headSha])
    const result = await plan(mirror, baseSha, headSha)
    if (result.kind !== 'merge-commit') throw new Error(result.kind)
    const input = { baseRef: 'main', baseSha, resultSha: result.resultSha }
    await git(repo.dir, ['update-ref', 'refs/heads/main', first])
    expect(await landMerge(mirror, input)).toEqual({ kind: 'moved' })
    expect(await repo.tip('main')).toBe(first)
    await git(repo.dir, ['update-ref', 'refs/heads/main', baseSha])
    expect(await landMerge(mirror, input)).toEqual({ kind: 'landed' })
    expect(await repo.tip('main')).toBe(result.resultSha)
    expect(await landMerge(mirror, input)).toEqual({ kind: 'landed' })
    const onTop = await commit(repo, 'main', { d: '1\n' })
    expect(await landMerge(mirror, input)).toEqual({ kind: 'landed' })
    await git(repo.dir, ['update-ref', 'refs/heads/main', first])
    expect(await landMerge(mirror, input)).toEqual({ kind: 'moved' })
    expect(onTop).not.toBe(first)
    await host.close()
    await temp.remove()
  })

  test.each(['managed', 'on a host'])('moves no branch when the preceding step fails: %s', async (kind) => {
    const repo = await repoWith({ main: { a: '1\n' }, work: { b: '2\n' } })
    const input = await planned(repo)
    const host = await serveHttpBackend(repo.dir)
    const temp = await tempDir()
    const mirror = await openMirror(join(temp.path, 'm.git'), remoteOf(host.url))
    await fetchObjects(mirror, [input.baseSha, await repo.tip('work')])
    const served = kind === 'managed' ? repo : mirror
    await plan(served, input.baseSha, await repo.tip('work'))
    const before = () => Promise.reject(new Error('the row was not written'))
    await expect(landMerge(served, { ...input, before })).rejects.toThrow('the row was not written')
    expect(host.requests.filter((line) => line.includes('git-receive-pack'))).toEqual([])
    expect(await repo.tip('main')).toBe(input.baseSha)
    expect(await landMerge(served, input)).toEqual({ kind: 'landed' })
    await host.close()
    await temp.remove()
  })

  test("reports the message of a host's hook as a final refusal", async () => {
    const repo = await repoWith({ main: { a: '1\n' }, work: { b: '2\n' } })
    await Bun.write(join(repo.dir, 'hooks/pre-receive'), '#!/bin/sh\necho "main is frozen until Monday" >&2\nexit 1\n')
    Bun.spawnSync(['chmod', '+x', join(repo.dir, 'hooks/pre-receive')])
    const host = await serveHttpBackend(repo.dir)
    const temp = await tempDir()
    const mirror = await openMirror(join(temp.path, 'm.git'), remoteOf(host.url))
    const [baseSha, resultSha] = [await repo.tip('main'), await repo.tip('work')]
    await fetchObjects(mirror, [baseSha, resultSha])
    const outcome = await landMerge(mirror, { baseRef: 'main', baseSha, resultSha })
    expect(outcome).toMatchObject({ kind: 'rejected' })
    expect(outcome).toHaveProperty('reason', expect.stringContaining('main is frozen until Monday'))
    expect(outcome).toHaveProperty('reason', expect.stringContaining('pre-receive hook declined'))
    await host.close()
    await temp.remove()
  })

  test.each(['http', 'file'])(
    'a lost object before a push over %s is not a refusal, and the next attempt has it again',
    async (protocol) => {
      const repo = await repoWith({ main: { a: '1\n' }, work: { b: '2\n' } })
      const host = await serveHttpBackend(repo.dir)
      const temp = await tempDir()
      const url = protocol === 'http' ? host.url : `file://${repo.dir}`
      const mirror = await openMirror(join(temp.path, 'm.git'), { url, credential: null, allowProtocols: [protocol] })
      const [baseSha, headSha] = [await commit(repo, 'main', { c: '1\n' }), await repo.tip('work')]
      await fetchObjects(mirror, [baseSha, headSha])
      const lose = await plan(mirror, baseSha, headSha)
      if (lose.kind !== 'merge-commit') throw new Error(lose.kind)
      await rm(join(mirror.dir, 'objects', lose.treeSha.slice(0, 2), lose.treeSha.slice(2)))
      const outcome = await landMerge(mirror, { baseRef: 'main', baseSha, resultSha: lose.resultSha })
      expect(outcome).toMatchObject({ kind: 'failed', reason: expect.stringContaining('could not be packed') })
      expect(await repo.tip('main')).toBe(baseSha)
      const again = await plan(mirror, baseSha, headSha)
      if (again.kind !== 'merge-commit') throw new Error(again.kind)
      expect(await landMerge(mirror, { baseRef: 'main', baseSha, resultSha: again.resultSha })).toEqual({
        kind: 'landed',
      })
      await host.close()
      await temp.remove()
    },
  )

  test('reports a host that is down, disconnects before or after the push, or refuses access', async () => {
    const repo = await repoWith({ main: { a: '1\n' }, work: { b: '2\n' } })
    const [baseSha, resultSha] = [await repo.tip('main'), await repo.tip('work')]
    let failing: 'none' | 'refuse' | 'hang-up' = 'none'
    const host = await serveHttpBackend(repo.dir, {
      before: (request) => {
        if (failing === 'refuse' && request.url?.includes('receive-pack')) return 403
        if (failing === 'hang-up' && request.method === 'POST' && request.url?.endsWith('receive-pack')) return 500
        return undefined
      },
    })
    const temp = await tempDir()
    const mirror = await openMirror(join(temp.path, 'm.git'), remoteOf(host.url))
    await fetchObjects(mirror, [baseSha, resultSha])
    const input = { baseRef: 'main', baseSha, resultSha }
    failing = 'refuse'
    expect(await landMerge(mirror, input)).toMatchObject({ kind: 'rejected' })
    failing = 'hang-up'
    expect(await landMerge(mirror, input)).toMatchObject({ kind: 'unknown' })
    expect(await repo.tip('main')).toBe(baseSha)
    await host.close()
    expect(await landMerge(mirror, input)).toMatchObject({ kind: 'unknown' })
    await temp.remove()
  })

  test('a planned merge survives moving its mirror away and back', async () => {
    const { repo, baseSha, headSha } = await forked({ a: '1\n' }, { b: '2\n' }, { c: '3\n' })
    const temp = await tempDir()
    const remote = { url: `file://${repo.dir}`, credential: null, allowProtocols: ['file'] }
    const mirror = await openMirror(join(temp.path, 'm.git'), remote)
    await fetchObjects(mirror, [baseSha, headSha])
    const before = await plan(mirror, baseSha, headSha)
    await rename(mirror.dir, `${mirror.dir}.away`)
    await openMirror(mirror.dir, remote)
    await fetchObjects(mirror, [baseSha, headSha])
    expect(await plan(mirror, baseSha, headSha)).toEqual(before)
    await temp.remove()
  })
})
