import type { Reply } from '../../api.ts'
import { read } from '../../cache/read.ts'

export type Usage = Reply<'/v1/accounts/{accountId}/usage'>
export type Storage = Reply<'/v1/projects/{projectId}/usage'>['storage']

export const accountUsage = (accountId: string, days: number) =>
  read(['account', accountId, 'usage', days], '/v1/accounts/{accountId}/usage', {
    path: { accountId },
    query: { days },
  })

export const projectUsage = (projectId: string, days: number) =>
  read(['project', projectId, 'usage', days], '/v1/projects/{projectId}/usage', {
    path: { projectId },
    query: { days },
  })
