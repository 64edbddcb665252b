import { randomUUID } from 'node:crypto'
import type { App } from '@svc/contract'
import { commit } from '@svc/git/testing'
import { type SessionApp, until } from '../sessions/testing.ts'

export async function deployedApp(server: SessionApp): Promise<string> {
  const command = `run ${randomUUID()}`
  await commit(server.repo, 'main', { 'svc.toml': `[[apps]]\nslug = "site"\ncommand = "${command}"\n` })
  const path = `/v1/projects/${server.project.project_id}/apps/site`
  await until('the app runs', async () => {
    const { body } = await server.request<App>('GET', path)
    if (body.state === 'stopped') await server.request('POST', `${path}/deploy`)
    await server.deps.apps.reconcile()
    return body.command === command && body.state === 'running' && body.next === null
  })
  return path
}
