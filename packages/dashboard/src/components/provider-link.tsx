import { useQuery } from '@tanstack/react-query'
import { signInMethods } from '../queries.ts'
import { buttonClass } from '../ui/button.tsx'

/** To the account's OpenID Connect provider, where the operator set one. `onLeave` runs before the browser goes there. */
export function ProviderLink({ next, onLeave }: { next: string; onLeave?: () => void }) {
  const { data } = useQuery(signInMethods)
  if (data?.oidc == null) return null
  return (
    // A real link: it leaves for another site.
    <a
      className={buttonClass('primary')}
      href={`/sign-in/oidc?${new URLSearchParams({ next }).toString()}`}
      onClick={onLeave}
    >
      Sign in with {data.oidc}
    </a>
  )
}
