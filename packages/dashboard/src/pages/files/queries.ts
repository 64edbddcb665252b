import { queryOptions, useInfiniteQuery } from '@tanstack/react-query'
import { ApiError, get, getPage, type Reply } from '../../api.ts'
import { read } from '../../cache/read.ts'

export type Tree = Reply<'/v1/projects/{projectId}/tree'>
export type FileReply = Reply<'/v1/projects/{projectId}/file'>
export type Blame = Reply<'/v1/projects/{projectId}/blame'>
export type Commit = Reply<'/v1/projects/{projectId}/commits'>['commits'][number]

/** A path of the project's repository at a branch or commit. */
export interface Place {
  projectId: string
  /** Undefined: the default branch. */
  ref: string | undefined
  path: string
}

const keyOf = (what: string, { projectId, ref, path }: Place) => ['project', projectId, 'files', what, ref, path]
const queryOf = ({ ref, path }: Place) => ({ ...(ref === undefined ? {} : { ref }), path })

export type Found = { tree: Tree } | { file: FileReply }

/** The folder or the file at a place. A path does not say which of the two it is. */
export const found = (place: Place) =>
  queryOptions({
    queryKey: keyOf('place', place),
    queryFn: async ({ signal }): Promise<Found> => {
      const params = { path: { projectId: place.projectId }, query: queryOf(place) }
      const tree = async () => ({ tree: await get('/v1/projects/{projectId}/tree', params, signal) })
      if (place.path === '') return tree()
      try {
        return { file: await get('/v1/projects/{projectId}/file', params, signal) }
      } catch (error) {
        if (error instanceof ApiError && error.detail.type === 'directory') return tree()
        throw error
      }
    },
  })

export const file = (place: Place) =>
  read(keyOf('file', place), '/v1/projects/{projectId}/file', {
    path: { projectId: place.projectId },
    query: queryOf(place),
  })

export const blame = (place: Place) =>
  read(keyOf('blame', place), '/v1/projects/{projectId}/blame', {
    path: { projectId: place.projectId },
    query: queryOf(place),
  })

export const paths = (projectId: string, ref: string | undefined) =>
  read(['project', projectId, 'files', 'paths', ref], '/v1/projects/{projectId}/paths', {
    path: { projectId },
    query: ref === undefined ? {} : { ref },
  })

export const matches = (projectId: string, ref: string | undefined, text: string) =>
  read(['project', projectId, 'files', 'search', ref, text], '/v1/projects/{projectId}/search', {
    path: { projectId },
    query: { ...(ref === undefined ? {} : { ref }), text },
  })

const commitsAtOnce = 50

export function useHistory(place: Place) {
  return useInfiniteQuery({
    queryKey: keyOf('history', place),
    initialPageParam: null as string | null,
    queryFn: ({ signal, pageParam: cursor }) =>
      getPage(
        '/v1/projects/{projectId}/commits',
        {
          path: { projectId: place.projectId },
          query: { ...queryOf(place), limit: commitsAtOnce, ...(cursor === null ? {} : { cursor }) },
        },
        signal,
      ),
    getNextPageParam: ({ cursor }) => cursor,
  })
}

export const commit = (projectId: string, sha: string) =>
  read(
    ['project', projectId, 'files', 'commit', sha],
    '/v1/projects/{projectId}/commits',
    { path: { projectId }, query: { ref: sha, limit: 1 } },
    { select: ({ commits }) => commits[0] },
  )

/** The changes of a commit against its first parent. */
export const changes = (projectId: string, sha: string, parent: string) =>
  read(
    ['project', projectId, 'files', 'changes', sha],
    '/v1/projects/{projectId}/compare',
    { path: { projectId }, query: { base: parent, head: sha, include: 'patch' } },
    { staleTime: Infinity },
  )
