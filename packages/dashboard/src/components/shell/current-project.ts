import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useEffect } from 'react'
import { useStored } from '../../browser/use-stored.ts'
import { me } from '../../pages/account/queries.ts'
import { findProject } from '../../pages/projects/find-project.ts'
import { type Project, projects } from '../../pages/projects/queries.ts'

/** The project in the address; on other pages the one that was visited last in this browser. `all` are those of the account. */
export function useCurrentProject(): { current: Project | undefined; all: Project[] } {
  const account = useQuery(me).data?.account.account_id
  const { data = [] } = useQuery(projects)
  const all = data.filter(({ account_id }) => account_id === account)
  const { project: name } = useParams({ strict: false })
  const [last, setLast] = useStored<string | null>('svc-project', null)
  const here = name === undefined ? undefined : findProject(data, name)
  const id = here?.project_id
  useEffect(() => {
    if (id !== undefined) setLast(id)
  }, [id, setLast])
  return { current: here ?? all.find(({ project_id }) => project_id === last) ?? all[0], all }
}
