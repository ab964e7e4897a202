"""What a model file is: an archive of arrays and a JSON header, checked against a table before it is used.

``archive`` has the container, whose sizes are checked before anything is unpacked; ``text`` the header's JSON;
``schema`` the words that the table in ``contents`` is written in; ``values`` how settings are written down, and
``parameters`` how an estimator is made of them; ``checks`` and ``answers`` what the table cannot say; ``versions``
what older files lack; ``flaws`` the errors of them all.
"""
