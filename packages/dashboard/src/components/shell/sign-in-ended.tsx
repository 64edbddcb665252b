import { type QueryKey, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { isUnauthenticated } from '../../api.ts'
import { me } from '../../pages/account/queries.ts'
import { SignInAgain, useHasSignInEnded } from '../requests.tsx'

/** An event of the queries or the mutations. */
interface Changed {
  type: string
  query?: { queryKey: QueryKey }
  action?: { type: string; error?: unknown }
}

/** Warns that the page is signed out. A refusal may have other reasons, such as a wrong password, so it asks the service. */
export function SignInEnded() {
  const queries = useQueryClient()
  const { refetch } = useQuery(me)
  const hasEnded = useHasSignInEnded()
  useEffect(() => {
    const ask = ({ action, query }: Changed) => {
      if (query?.queryKey[0] === me.queryKey[0]) return
      const { type, error } = action ?? {}
      const isNews = hasEnded ? type === 'success' : type === 'error' && isUnauthenticated(error)
      if (isNews) void refetch({ cancelRefetch: false })
    }
    const ends = [queries.getQueryCache().subscribe(ask), queries.getMutationCache().subscribe(ask)]
    return () => {
      for (const end of ends) end()
    }
  }, [queries, refetch, hasEnded])
  return hasEnded && <SignInAgain />
}
