import { Link } from '@tanstack/react-router'
import { paths } from '../paths.ts'

export function NotFoundPage() {
  return (
    <div className="mx-auto max-w-2xl p-6">
      <h1 className="text-xl font-semibold">There is no such page</h1>
      <p className="mt-2 text-dim">
        The address may be mistyped, or what it named is gone.{' '}
        <Link to={paths.home} className="text-accent underline">
          Go home
        </Link>
      </p>
    </div>
  )
}
