import { useQuery } from '@tanstack/react-query'
import { signInMethods } from '../../pages/account/queries.ts'
import { buttonClass } from '../../ui/form.tsx'

/** A link to the OpenID Connect provider, if the operator configured one. `onLeave` runs before the browser leaves. */
export function ProviderLink({ next, onLeave }: { next: string; onLeave?: () => void }) {
  const { data } = useQuery(signInMethods)
  if (data?.oidc == null) return null
  return (
    // Not a router link: it leads to another site.
    <a
      className={buttonClass('primary')}
      href={`/sign-in/oidc?${new URLSearchParams({ next }).toString()}`}
      onClick={onLeave}
    >
      Sign in with {data.oidc}
    </a>
  )
}
