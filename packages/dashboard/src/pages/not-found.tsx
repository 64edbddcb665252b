import { Link } from '@tanstack/react-router'
import { paths } from '../paths.ts'

export function NotFoundPage() {
  return (
    <main className="mx-auto max-w-2xl p-6">
      <h1 className="text-xl font-semibold">Page not found</h1>
      <p className="mt-2 text-dim">
        Check the URL, or go to the home page.{' '}
        <Link to={paths.home} className="text-accent underline">
          Go home
        </Link>
      </p>
    </main>
  )
}
