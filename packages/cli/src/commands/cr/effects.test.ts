import { describe, expect, test } from 'bun:test'
import { cleanPreview, ids, startService, svc } from '../../testing.ts'

const env = { SVC_PROJECT_ID: ids.project }

describe('svc cr show', () => {
  const effects = {
    ...{ applies: true, triggers: [], apps: [], skills: [], agents: [], connectors: [], channels: [], checks: [] },
    ...{ settings: [], secrets_added: [], secrets_missing: [], manifest_issues: [], details: [] },
  }
  const shownWith = async (changes: object) => {
    await using service = startService({
      previewChangeRequest: () => ({ ...cleanPreview, effects: { ...effects, ...changes } }),
    })
    return (await svc(['cr', 'show', '3'], { service, env })).stdout
  }

  test('cr show lists the first twenty effects beyond code', async () => {
    const words = ['Adds the trigger nightly (0 3 * * * UTC).', 'Changes the skill \x1b[2Jrelease.']
    expect(await shownWith({ words })).toEndWith(
      '\n\nMerging also\n  Adds the trigger nightly (0 3 * * * UTC).\n  Changes the skill ␛[2Jrelease.\n',
    )
    const many = Array.from({ length: 23 }, (_, n) => `Adds the trigger number-${n}.`)
    const lines = (await shownWith({ words: many })).split('\nMerging also\n')[1]!.trimEnd().split('\n')
    expect(lines).toEqual([...many.slice(0, 20).map((line) => `  ${line}`), '  and 3 more: --json lists them'])
  })

  test('cr show prints each changed entry before and after, its next times, and what needs confirmation', async () => {
    const details = [
      {
        ...{ kind: 'trigger', name: 'nightly', change: 'changed', confirm: [] },
        fields: [
          { field: 'cron', before: '0 3 * * *', after: '0 4 * * *' },
          { field: 'prompt', before: null, after: 'Tidy up\nthe parser' },
          { field: 'agent', before: 'plan', after: null },
        ],
        next_fire_at: ['2026-11-22T04:00:00.000Z', '2026-11-23T04:00:00.000Z', '2026-11-24T04:00:00.000Z'],
      },
      {
        ...{ kind: 'connector', name: 'shop', change: 'added', next_fire_at: [] },
        fields: [{ field: 'url', before: null, after: 'https://shop.example/' }],
        confirm: ['The secret SHOP_KEY goes to shop.example.'],
      },
      { ...{ kind: 'app', name: 'site', change: 'redeployed', fields: [], next_fire_at: [], confirm: [] } },
    ]
    expect(await shownWith({ words: ['Changes the trigger nightly.'], details })).toEndWith(`
What changes
  trigger nightly changed
    cron 0 3 * * * → 0 4 * * *
    prompt Tidy up… (new)
    agent plan (removed)
    next 2026-11-22T04:00:00.000Z, 2026-11-23T04:00:00.000Z, 2026-11-24T04:00:00.000Z
  connector shop added
    url https://shop.example/
    needs confirmation: The secret SHOP_KEY goes to shop.example.
`)
  })

  test('cr show prints no effects when there are none or the base is not the default branch', async () => {
    expect(await shownWith({ words: [] })).not.toContain('Merging also')
    expect(await shownWith({ applies: false, words: [] })).not.toContain('Merging also')
  })
})
