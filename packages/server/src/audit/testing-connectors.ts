import { randomUUID } from 'node:crypto'
import { commit } from '@svc/git/testing'
import type { SessionApp } from '../sessions/testing.ts'
import type { TestReply } from '../testing.ts'

type Act = () => Promise<TestReply<unknown>>

/** Changes to connectors, for the test that counts audit rows. */
export function connectorChanges(app: () => SessionApp): Record<string, { action: string; prepare(): Promise<Act> }> {
  const base = () => `/v1/projects/${app().project.project_id}`
  async function connector(): Promise<string> {
    const entry = `slug = "shop"\ntype = "http"\nurl = "https://api.example.com/"\n`
    await commit(app().repo, 'main', { 'svc.toml': `[[connectors]]\n${entry}` })
    return `${base()}/connectors/shop`
  }
  async function question(): Promise<string> {
    const approval_id = randomUUID()
    await app()
      .deps.db.insertInto('connector_approvals')
      .values({
        ...{ approval_id, project_id: app().project.project_id, session_id: null, slug: 'shop', tool: 'request' },
        ...{
          url: 'https://api.example.com/',
          arguments: '{"path":"canary-value"}',
          arguments_sha256: Buffer.alloc(32),
        },
        ...{ created_at: new Date(), expires_at: new Date(Date.now() + 600_000) },
      })
      .execute()
    return `${base()}/connector-approvals/${approval_id}`
  }
  return {
    checkConnector: {
      action: 'connector.check',
      async prepare() {
        const path = await connector()
        return () => app().request('POST', `${path}/check`)
      },
    },
    setConnectorPolicy: {
      action: 'connector.policy',
      async prepare() {
        const path = await connector()
        return () => app().request('PATCH', `${path}/policies`, { body: { policy: 'block' } })
      },
    },
    decideConnectorApproval: {
      action: 'connector.deny',
      async prepare() {
        const path = await question()
        return () => app().request('POST', `${path}/decide`, { body: { decision: 'deny' } })
      },
    },
  }
}
