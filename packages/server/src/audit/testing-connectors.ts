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
  /** Sends this once the object that `make` returns the path of is there. */
  const act = (action: string, make: () => Promise<string>, method: string, verb: string, body?: object) => ({
    action,
    async prepare() {
      const path = await make()
      return () => app().request(method, `${path}/${verb}`, { body })
    },
  })
  return {
    checkConnector: act('connector.check', connector, 'POST', 'check'),
    setConnectorPolicy: act('connector.policy', connector, 'PATCH', 'policies', { policy: 'block' }),
    decideConnectorApproval: act('connector.deny', question, 'POST', 'decide', { decision: 'deny' }),
  }
}
