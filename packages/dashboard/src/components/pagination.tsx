import { Link, useLocation } from '@tanstack/react-router'
import { buttonClass } from '../ui/form.tsx'

export function Older({ cursor, next }: { cursor: string | null; next: string | null }) {
  const { pathname } = useLocation()
  if (cursor === null && next === null) return null
  return (
    <nav aria-label="Pages" className="flex justify-center gap-2 border-t border-line p-3">
      {cursor !== null && (
        <Link to={pathname} search={(before) => ({ ...before, cursor: undefined })} className={buttonClass()}>
          Newest
        </Link>
      )}
      {next !== null && (
        <Link to={pathname} search={(before) => ({ ...before, cursor: next })} className={buttonClass()}>
          Older
        </Link>
      )}
    </nav>
  )
}
