import { describe, expect, test } from 'bun:test'
import { git, GitError } from '../process/git.ts'
import type { GatewayOptions } from './gateway.ts'
import { anything, cloned, committed, setUp } from './testing-setup.ts'

describe('a push that waits before any ref moves', () => {
  /** Until the test lets it go on. */
  function waiting(reason: string) {
    const go = Promise.withResolvers<null>()
    const prepare: GatewayOptions['prepare'] = (_push, say) => {
      say(reason)
      return go.promise
    }
    return { go, options: { allowDelete: true, prepare } }
  }

  test('says for what while it waits', async () => {
    const { go, options } = waiting('Waiting for the copy.')
    const setup = await setUp('managed', anything, options)
    const clone = await cloned(setup)
    const sha = await committed(clone, 'new.txt', 'new\n')
    const child = Bun.spawn(['git', 'push', 'origin', 'HEAD:new'], { cwd: clone.cwd, env: clone.env, stderr: 'pipe' })
    let errors = ''
    for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) {
      const isFirst = !errors.includes('remote: Waiting')
      errors += chunk
      if (!isFirst || !errors.includes('remote: Waiting')) continue
      expect((await git(setup.origin.dir, ['for-each-ref', 'refs/heads/new'])).stdout.toString()).toBe('')
      go.resolve(null)
    }
    expect({ code: await child.exited, errors }).toMatchObject({ code: 0, errors: expect.stringContaining('new') })
    expect(await setup.origin.tip('new')).toBe(sha)
  })

  test('sends empty packets meanwhile, and the refusal at its end', async () => {
    const { go, options } = waiting('Waiting.')
    const setup = await setUp('managed', anything, options)
    const command = `${await setup.origin.tip('work')} ${'0'.repeat(40)} refs/heads/work\0report-status side-band-64k`
    const answer = await fetch(`${setup.url}/git-receive-pack`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-git-receive-pack-request' },
      body: `${(command.length + 4).toString(16).padStart(4, '0')}${command}0000`,
    })
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
    expect((await reader.read()).value).toBe('000e\x02Waiting.\n')
    expect((await reader.read()).value).toBe('0005\x02')
    go.reject(new GitError('busy', 'Too many.'))
    let rest = ''
    for (let next = await reader.read(); !next.done; next = await reader.read()) rest += next.value
    expect(rest).toContain('ng refs/heads/work Too many pushes to this repository are running.')
    expect(await setup.origin.tip('work')).not.toBe('')
  })
})
