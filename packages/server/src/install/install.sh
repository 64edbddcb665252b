#!/bin/sh
# Installs svc, the client, for this user. No root is needed and nothing but the files named below is changed:
#   ~/.svc/bin/svc                the program
#   /usr/local/bin/svc            a link to it, where this user may write there, else
#   ~/.local/bin/svc              (SVC_BIN_DIR names another folder)
#   ~/.svc/share/man              its manual pages, with links to them beside that folder (~/.local/share/man/man1)
# Everything is inside these braces and one function that is called last: a download that was cut short does nothing.
{
svc_say() { printf '%s\n' "$*" >&2; }
svc_fail() { svc_say "svc was not installed: $*"; exit 1; }

svc_fetch() { # address, file
  if command -v curl >/dev/null 2>&1; then curl -fsSL --retry 2 -o "$2" "$1"
  elif command -v wget >/dev/null 2>&1; then wget -q -O "$2" "$1"
  else svc_fail 'neither curl nor wget is here.'; fi
}

svc_sha256() { # file
  if command -v sha256sum >/dev/null 2>&1; then sha256sum "$1" | cut -d ' ' -f 1
  elif command -v shasum >/dev/null 2>&1; then shasum -a 256 "$1" | cut -d ' ' -f 1
  elif command -v openssl >/dev/null 2>&1; then openssl dgst -sha256 "$1" | sed 's/^.*= *//'
  else svc_fail 'neither sha256sum, shasum nor openssl is here, so nothing can be verified.'; fi
}

svc_platform() {
  case "$(uname -s)" in
    Linux) svc_os=linux ;;
    Darwin) svc_os=darwin ;;
    *) svc_fail "there is no svc for $(uname -s)." ;;
  esac
  case "$(uname -m)" in
    x86_64 | amd64) svc_arch=x64 ;;
    aarch64 | arm64) svc_arch=arm64 ;;
    *) svc_fail "there is no svc for $(uname -m)." ;;
  esac
  svc_archive="svc-$svc_os-$svc_arch.tar.gz"
}

# A link is ours when it leads to the program; what is not ours is left alone.
svc_is_ours() { [ -L "$1" ] && [ "$(readlink "$1")" = "$svc_program" ]; }
svc_may_link() { { [ ! -e "$1" ] && [ ! -L "$1" ]; } || svc_is_ours "$1"; }

svc_choose_link() {
  if [ -n "${SVC_BIN_DIR:-}" ]; then svc_dir=$SVC_BIN_DIR
  elif [ -d /usr/local/bin ] && [ -w /usr/local/bin ] && svc_may_link /usr/local/bin/svc; then svc_dir=/usr/local/bin
  else svc_dir=$HOME/.local/bin; fi
  svc_shim=$svc_dir/svc
  svc_may_link "$svc_shim" || svc_fail "$svc_shim is another program. Move it, or set SVC_BIN_DIR to another folder."
}

svc_link() {
  mkdir -p "$svc_dir" || svc_fail "$svc_dir cannot be made."
  svc_is_ours "$svc_shim" || ln -s "$svc_program" "$svc_shim" || svc_fail "$svc_shim cannot be written."
}

# man finds pages beside the folders of PATH: of ~/.local/bin, those in ~/.local/share/man. svc works without them.
svc_manual() {
  svc_pages=$svc_home/share/man/man1
  svc_man=
  rm -rf "$svc_pages"
  "$svc_program" man --out "$svc_pages" >/dev/null 2>&1 || { svc_say 'Its manual pages could not be written.'; return 0; }
  case "$svc_dir" in */bin) ;; *) return 0 ;; esac
  svc_man=${svc_dir%/bin}/share/man/man1
  { mkdir -p "$svc_man" && [ -w "$svc_man" ]; } 2>/dev/null || {
    svc_say "$svc_man cannot be written, so the manual pages are in $svc_pages alone: man -M $svc_home/share/man svc"
    svc_man=
    return 0
  }
  # Pages of an earlier version lead nowhere now.
  for svc_page in "$svc_man"/svc*.1; do
    [ -L "$svc_page" ] && case "$(readlink "$svc_page")" in "$svc_pages"/*) rm -f "$svc_page" ;; esac
  done
  for svc_page in "$svc_pages"/*.1; do
    svc_name=$svc_man/${svc_page##*/}
    [ -e "$svc_name" ] || [ -L "$svc_name" ] || ln -s "$svc_page" "$svc_name" || return 0
  done
}

# Of this server, unless the client was told of others before.
svc_host() {
  case "$svc_origin" in
    http://127.0.0.1 | http://127.0.0.1:* | http://localhost | http://localhost:*) svc_name=selfhost ;;
    *) svc_name=$(printf '%s' "$svc_origin" | sed 's|^[a-z]*://||; s|/.*$||; s|[^A-Za-z0-9.-]|-|g' | tr 'A-Z' 'a-z') ;;
  esac
  "$svc_program" hosts add "$svc_name" --url "$svc_origin" --use >/dev/null 2>&1 ||
    svc_say "The host could not be set. Do it with: svc hosts add $svc_name --url $svc_origin --use"
}

svc_install() {
  set -eu
  svc_origin='{origin}'
  [ -n "${HOME:-}" ] && [ -d "$HOME" ] || svc_fail 'HOME is not a folder.'
  svc_home=$HOME/.svc
  svc_program=$svc_home/bin/svc
  svc_platform
  svc_tmp=$(mktemp -d "${TMPDIR:-/tmp}/svc-install.XXXXXX") || svc_fail 'no temporary folder can be made.'
  trap 'rm -rf "$svc_tmp"' EXIT
  trap 'exit 1' HUP INT TERM
  svc_say "Downloading $svc_archive from $svc_origin"
  svc_fetch "$svc_origin/install/SHA256SUMS" "$svc_tmp/SHA256SUMS" || svc_fail 'its checksums could not be downloaded.'
  svc_wanted=$(sed -n "s/^\([0-9a-f]\{64\}\)  $svc_archive\$/\1/p" "$svc_tmp/SHA256SUMS")
  [ -n "$svc_wanted" ] || svc_fail "this server has no program for $svc_os-$svc_arch; npm run release on it makes one."
  svc_fetch "$svc_origin/install/$svc_archive" "$svc_tmp/$svc_archive" || svc_fail 'it could not be downloaded.'
  svc_found=$(svc_sha256 "$svc_tmp/$svc_archive")
  [ "$svc_found" = "$svc_wanted" ] || svc_fail "its checksum is $svc_found, and $svc_wanted was wanted."
  tar -xzf "$svc_tmp/$svc_archive" -C "$svc_tmp" svc || svc_fail 'the archive could not be unpacked.'
  svc_version=$("$svc_tmp/svc" version) || svc_fail 'the program does not run on this machine.'

  svc_choose_link
  mkdir -p "$svc_home/bin" || svc_fail "$svc_home/bin cannot be made."
  # Beside its place and then renamed: whoever runs svc at this moment has the old one or the new one.
  cp "$svc_tmp/svc" "$svc_home/bin/.svc.$$" && chmod 755 "$svc_home/bin/.svc.$$" || svc_fail "$svc_home cannot be written."
  mv -f "$svc_home/bin/.svc.$$" "$svc_program"
  svc_link
  svc_manual
  printf '{"origin": "%s", "version": "%s", "shim": "%s", "man": "%s"}\n' \
    "$svc_origin" "$svc_version" "$svc_shim" "$svc_man" >"$svc_home/install.json"
  [ -n "${SVC_UPDATE:-}" ] || svc_host

  svc_say "Installed svc $svc_version: $svc_program, linked by $svc_shim"
  case ":$PATH:" in
    *":$svc_dir:"*) ;;
    *) svc_say "$svc_dir is not on your PATH. Add it: export PATH=\"$svc_dir:\$PATH\"" ;;
  esac
  [ -z "${SVC_UPDATE:-}" ] || return 0
  # The owner of a server on this machine is signed in already.
  if SVC_API_URL="$svc_origin" "$svc_program" whoami >/dev/null 2>&1; then
    svc_say 'You are signed in. Next: svc status'
  else
    svc_say 'Next: svc login'
  fi
}

svc_install "$@"
}