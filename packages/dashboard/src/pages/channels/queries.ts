import { queryOptions } from '@tanstack/react-query'
import { api, type Reply, reply } from '../../api.ts'
import { live, read } from '../../cache/read.ts'

type Listed = Reply<'/v1/projects/{projectId}/channels'>
export type Channel = Listed['channels'][number]
export type ChatSetup = Listed['setup'][number]
export type ChannelDetail = Reply<'/v1/projects/{projectId}/channels/{channelId}'>

export const channels = (projectId: string) =>
  read(['project', projectId, 'channels'], '/v1/projects/{projectId}/channels', { path: { projectId } }, live)

export const channel = (path: { projectId: string; channelId: string }) =>
  read(
    ['project', path.projectId, 'channels', path.channelId],
    '/v1/projects/{projectId}/channels/{channelId}',
    { path },
    live,
  )

/** The chat user that a code links. The request claims the code for this user, so the page sends it once. */
export const linkCode = (code: string) =>
  queryOptions({
    queryKey: ['link-code', code],
    queryFn: ({ signal }) => reply(api.POST('/v1/channel-links/claim', { body: { code }, signal })),
    staleTime: Infinity,
    retry: false,
  })
