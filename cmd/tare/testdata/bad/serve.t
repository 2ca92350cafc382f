What tare serve cannot show, and where it cannot listen.

  $ tare serve nowhere
  tare: cannot show the runs of nowhere: no such file or directory
  [2]
  $ : >file
  $ tare serve file
  tare: cannot show the runs of file: it is not a directory; `tare report FILE --out -` makes the report of an archive
  [2]
  $ tare serve --listen 8090
  tare: --listen 8090: must be HOST:PORT, such as 127.0.0.1:9464, or :9464 for all addresses (`tare serve --help` lists the flags)
  [2]
  $ tare serve --token-file none.txt
  tare: read the token: open none.txt: no such file or directory
  [2]
  $ echo secret >short.txt
  $ tare serve --token-file short.txt
  tare: --token-file short.txt: other users of this machine may open it (mode 0644): `chmod 600 short.txt`, and take another token if they could read it
  [2]
  $ chmod 600 short.txt
  $ tare serve --token-file short.txt
  tare: --token-file short.txt: a token has at least 16 characters
  [2]
  $ (umask 077; echo 'a token with blanks' >blanks.txt)
  $ tare serve --token-file blanks.txt
  tare: --token-file blanks.txt: a token has letters, digits, - and _ only
  [2]
  $ tare serve --listen 192.0.2.1:8090
  tare: --listen: cannot listen on 192.0.2.1:8090: listen tcp 192.0.2.1:8090: bind: cannot assign requested address; choose an address of this machine, such as 127.0.0.1:8090
  [2]
