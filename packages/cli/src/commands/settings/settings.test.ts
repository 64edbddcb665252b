import { expect, test } from 'bun:test'
import { aProject, ids, startService, svc } from '../../testing.ts'
import { settings } from '../../testing/usage.ts'

const env = { SVC_PROJECT_ID: ids.project }

test('settings set sends names, values and settings as they are given', async () => {
  await using service = startService()
  const set = await svc(['settings', 'set', 'name=My app', 'agent_merge=allow', 'manifest_gate=on'], { service, env })
  expect(set.code).toBe(0)
  expect(service.of('updateProject')[0]?.body).toEqual({
    name: 'My app',
    settings: { agent_merge: 'allow', manifest_gate: 'on' },
  })
})

test('settings set reads a credential from stdin and never prints it', async () => {
  await using service = startService()
  const set = await svc(['settings', 'set', 'git_token=-'], { service, env, stdin: 'canary\n' })
  expect(service.of('updateProject')[0]?.body).toEqual({ git_token: 'canary' })
  expect(set.stdout + set.stderr).not.toContain('canary')
})

test('settings set refuses an unknown setting before it changes anything', async () => {
  await using service = startService()
  const wrong = await svc(['settings', 'set', 'manifest_gat=on'], { service, env })
  expect(wrong.code).toBe(2)
  expect(wrong.stderr).toContain('Did you mean manifest_gate?')
  expect((await svc(['settings', 'set', 'manifest_gate'], { service, env })).code).toBe(2)
  expect(service.of('updateProject')).toEqual([])
})

test("settings ls lists every setting in the server's reply", async () => {
  await using service = startService()
  expect((await svc(['settings', 'ls'], { service, env })).stdout).toBe(
    'name\tapp\ndefault_branch\tmain\nagent_merge\tdeny\nmanifest_gate\toff\ngit_host\tauto\ngit_api_url\tnull\nmodel_tokens_per_session\tnull\nmodel_tokens_per_month\tnull\nsession_depth_max\t3\nsession_descendants_max\t10\nsession_starts_per_hour_max\t60\nwebhook_sessions_max\t10\nwebhook_fires_per_hour_max\t120\nquota_repository_bytes\tnull\nquota_push_bytes\tnull\nquota_unfinished_work_bytes\tnull\nquota_transcript_bytes\tnull\nquota_check_log_bytes\tnull\nquota_app_archive_bytes\tnull\nquota_sessions_bytes\tnull\n',
  )
})

test('settings ls prints sizes and defaults in words, and --json prints the raw values', async () => {
  await using service = startService({
    getProject: () => aProject({ settings: { ...settings, quota_push_bytes: 5 * 1024 ** 3 } }),
  })
  const { stdout } = await svc(['settings', 'ls'], { service, env, terminal: true })
  const line = (name: string) => stdout.split('\n').find((each) => each.includes(name))
  expect(line('quota_push_bytes')).toContain('5 GiB')
  expect(line('quota_repository_bytes')).toContain("default (the server's quota)")
  expect(line('model_tokens_per_month')).toContain('no limit')
  expect(stdout).not.toContain('null')
  const plain = await svc(['settings', 'ls'], { service, env })
  expect(plain.stdout).toContain('quota_push_bytes\t5368709120\n')
})
