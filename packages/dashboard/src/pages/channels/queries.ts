import { queryOptions } from '@tanstack/react-query'
import { api, get, type Reply, reply } from '../../api.ts'
import { liveMs } from '../../cache/query-client.ts'

type Listed = Reply<'/v1/projects/{projectId}/channels'>
export type Channel = Listed['channels'][number]
export type ChatSetup = Listed['setup'][number]
export type ChannelDetail = Reply<'/v1/projects/{projectId}/channels/{channelId}'>

export const channels = (projectId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'channels'],
    queryFn: ({ signal }) => get('/v1/projects/{projectId}/channels', { path: { projectId } }, signal),
    refetchInterval: liveMs,
  })

export const channel = (projectId: string, channelId: string) =>
  queryOptions({
    queryKey: ['project', projectId, 'channels', channelId],
    queryFn: ({ signal }) =>
      get('/v1/projects/{projectId}/channels/{channelId}', { path: { projectId, channelId } }, signal),
    refetchInterval: liveMs,
  })

/** The chat user that a code links. The request claims the code for this user, so the page sends it once. */
export const linkCode = (code: string) =>
  queryOptions({
    queryKey: ['link-code', code],
    queryFn: ({ signal }) => reply(api.POST('/v1/channel-links/claim', { body: { code }, signal })),
    staleTime: Infinity,
    retry: false,
  })
