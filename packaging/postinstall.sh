#!/bin/sh
# Creates the user of the services. It starts nothing: first name a model in
# /etc/reverie/reverie.toml.
set -e
if ! getent passwd reverie >/dev/null; then
	useradd --system --home-dir /var/lib/reverie --shell /usr/sbin/nologin reverie
fi
chgrp reverie /etc/reverie/reverie.toml
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
